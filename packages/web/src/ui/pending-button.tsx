import { Button, type ButtonProps } from '@mantine/core';
import { type ComponentProps, type ReactNode, useLayoutEffect, useRef } from 'react';

type PendingButtonProps = Omit<ButtonProps, 'loading'> &
  Omit<ComponentProps<'button'>, keyof ButtonProps | 'ref'> & {
    /** Whether its action is running. */
    readonly pending: boolean;
  };

/**
 * A button that shows that its action is running, and cannot be used meanwhile. A disabled button loses the focus, so it gets the
 * focus back afterwards, unless the user has moved it elsewhere.
 */
export function PendingButton({ pending, ...props }: PendingButtonProps): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (pending) hadFocus.current = document.activeElement === button.current;
    else if (hadFocus.current && document.activeElement === document.body) button.current?.focus();
  }, [pending]);
  return <Button {...props} ref={button} loading={pending} />;
}
