/** Short messages in the corner: what was done, what failed. Read out by screen readers, gone by themselves unless they failed. */
import { ActionIcon, Button } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { Icon } from './icon.tsx';
import classes from './toasts.module.css';

export interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();
const shownMilliseconds = 6000;

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/**
 * Says something in the corner; `action` may offer to take it back.
 *
 * @returns what takes the message away, once it no longer holds.
 */
export function toast(text: string, more: { failed?: boolean; action?: Toast['action'] } = {}): () => void {
  last += 1;
  const made: Toast = {
    id: last,
    kind: more.failed ? 'failed' : 'done',
    text,
    ...(more.action && { action: more.action }),
  };
  change([...toasts.slice(-3), made]);
  if (!more.failed) setTimeout(() => dismiss(made.id), shownMilliseconds);
  return () => dismiss(made.id);
}

/** What was said to one login, and what it could take back, is nothing to the next one. */
export function clearToasts(): void {
  change([]);
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

function taken(id: number, run: () => void): void {
  run();
  dismiss(id);
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const t = useTexts().common;
  return (
    <div className={classes.corner} role="status" aria-live="polite">
      {shown.map(({ id, kind, text, action }) => (
        <div key={id} className={classes.toast} data-kind={kind}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <span className={classes.text}>{text}</span>
          {action && (
            <Button size="compact-sm" variant="subtle" onClick={() => taken(id, action.run)}>
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
