import '../ui/theme/mantine.css';
import '../ui/theme/base.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from '../data/queries.ts';
import { session } from '../data/session.ts';
import { preferredLanguage, TextsProvider } from '../ui/i18n/texts.tsx';
import { watchTakenKeys } from '../ui/taken-keys.ts';
import { clearToasts, Toasts } from '../ui/toasts.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { pageNonce, restrictMarkup } from './page-policy.ts';
import { router } from './router.tsx';
import { Themed } from './themed.tsx';

restrictMarkup();
watchTakenKeys();
session.watch(clearToasts);
const nonce = pageNonce();
const language = preferredLanguage();
document.documentElement.lang = language;

const container = document.getElementById('app');
if (!container) throw new Error('The page has no element with the id "app".');

createRoot(container).render(
  <StrictMode>
    <TextsProvider language={language}>
      <Themed nonce={nonce}>
        <QueryClientProvider client={queryClient}>
          <ErrorBoundary>
            <RouterProvider router={router} />
          </ErrorBoundary>
          <Toasts />
        </QueryClientProvider>
      </Themed>
    </TextsProvider>
  </StrictMode>,
);
