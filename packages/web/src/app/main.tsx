import '../ui/theme/mantine.css';
import '../ui/theme/base.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from '../data/queries.ts';
import { session } from '../data/session.ts';
import { preferredLanguage, TextsProvider, textsIn } from '../ui/i18n/texts.tsx';
import { cssVariables, themeIn } from '../ui/theme/theme.ts';
import { clearToasts, Toasts } from '../ui/toasts.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { pageNonce, restrictMarkup } from './page-policy.ts';
import { router } from './router.tsx';

restrictMarkup();
session.watch(clearToasts);
const nonce = pageNonce();
const language = preferredLanguage();
document.documentElement.lang = language;
const theme = themeIn(textsIn(language).common);

const container = document.getElementById('app');
if (!container) throw new Error('The page has no element with the id "app".');

createRoot(container).render(
  <StrictMode>
    <TextsProvider language={language}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        {...(nonce && { getStyleNonce: () => nonce })}
      >
        <QueryClientProvider client={queryClient}>
          <ErrorBoundary>
            <RouterProvider router={router} />
          </ErrorBoundary>
          <Toasts />
        </QueryClientProvider>
      </MantineProvider>
    </TextsProvider>
  </StrictMode>,
);
