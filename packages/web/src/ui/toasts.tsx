/**
 * Toasts: short messages about what was done or what failed. Screen readers announce them. They disappear after a few
 * seconds, except failures.
 */
import { ActionIcon, Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { Icon } from './icon.tsx';
import { useStore, ValueStore } from './store.ts';
import classes from './toasts.module.css';

export interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const toasts = new ValueStore<readonly Toast[]>([]);
let lastId = 0;
const visibleMilliseconds = 6000;

/**
 * Shows a toast; `action` adds a button, for example to undo.
 *
 * @returns a function that removes the toast.
 */
export function toast(text: string, more: { failed?: boolean; action?: Toast['action'] } = {}): () => void {
  lastId += 1;
  const created: Toast = {
    id: lastId,
    kind: more.failed ? 'failed' : 'done',
    text,
    ...(more.action && { action: more.action }),
  };
  toasts.set([...toasts.state.slice(-3), created]);
  if (!more.failed) setTimeout(() => dismiss(created.id), visibleMilliseconds);
  return () => dismiss(created.id);
}

/** Removes all toasts when another user signs in. */
export function clearToasts(): void {
  toasts.set([]);
}

function dismiss(id: number): void {
  toasts.set(toasts.state.filter((each) => each.id !== id));
}

function runAction(id: number, run: () => void): void {
  run();
  dismiss(id);
}

export function Toasts(): ReactNode {
  const visibleToasts = useStore(toasts);
  const t = useTexts().common;
  return (
    <div className={classes.corner} role="status" aria-live="polite">
      {visibleToasts.map(({ id, kind, text, action }) => (
        <div key={id} className={classes.toast} data-kind={kind}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <span className={classes.text}>{text}</span>
          {action && (
            <Button size="compact-sm" variant="subtle" onClick={() => runAction(id, action.run)}>
              {action.label}
            </Button>
          )}
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label={t.dismiss} onClick={() => dismiss(id)}>
            <Icon name="x" size={14} />
          </ActionIcon>
        </div>
      ))}
    </div>
  );
}
