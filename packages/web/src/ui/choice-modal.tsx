import { Modal } from '@mantine/core';
import type { KeyboardEvent, ReactNode } from 'react';

interface ChoiceModalProps {
  readonly opened: boolean;
  readonly close: () => void;
  /** The accessible name. */
  readonly label: string;
  readonly size: 'sm' | 'lg';
  /** Whether keys stay in the modal, for one in a form that handles keys itself. */
  readonly keepsKeys?: boolean;
  /** A list of choices. It is only mounted while the modal is open. */
  readonly children: ReactNode;
}

/** A modal near the top of the page that contains nothing but a list of choices. */
export function ChoiceModal({ opened, close, label, size, keepsKeys = false, children }: ChoiceModalProps): ReactNode {
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size={size}
      yOffset="12vh"
      centered={false}
      attributes={{ content: { 'aria-label': label } }}
      {...(keepsKeys && { onKeyDown: (event: KeyboardEvent) => event.stopPropagation() })}
    >
      {children}
    </Modal>
  );
}
