import { ActionIcon, type ActionIconProps, Tooltip } from '@mantine/core';
import type { MouseEventHandler, ReactNode, Ref } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface IconButtonProps extends Omit<ActionIconProps, 'children'> {
  readonly icon: IconName;
  /** The accessible name and the tooltip. */
  readonly label: string;
  readonly onClick?: MouseEventHandler<HTMLButtonElement>;
  readonly pressed?: boolean;
  readonly tabIndex?: number;
  readonly ref?: Ref<HTMLButtonElement>;
}

/** A button that only shows an icon. */
export function IconButton({ icon, label, pressed, ...rest }: IconButtonProps): ReactNode {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={label}
        {...(pressed !== undefined && { 'aria-pressed': pressed })}
        {...rest}
      >
        <Icon name={icon} size={18} />
      </ActionIcon>
    </Tooltip>
  );
}
