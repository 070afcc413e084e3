import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Empty } from '../ui/states.tsx';

/** Catches the render errors of a page. The shell stays usable, and the page shows that it crashed. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    return this.state.error ? <PageError /> : this.props.children;
  }
}

/** Shown instead of a page that threw an error. */
export function PageError(): ReactNode {
  const t = useTexts().shell.broken;
  return (
    <Empty icon="warning" title={t.title} text={t.text}>
      <Button onClick={() => location.reload()}>{t.reload}</Button>
      <Button variant="subtle" component="a" href="/">
        {t.home}
      </Button>
    </Empty>
  );
}
