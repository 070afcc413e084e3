/** Links to other pages of the interface, as buttons or text, with type-checked routes. */
import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactNode, Ref } from 'react';

type Attributes<Own> = Own &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Own> & { ref?: Ref<HTMLAnchorElement> };

function ButtonAnchor(props: Attributes<ButtonProps>): ReactNode {
  return <Button component="a" {...props} />;
}

function TextAnchor(props: Attributes<AnchorProps>): ReactNode {
  return <Anchor {...props} />;
}

export const ButtonLink: LinkComponent<typeof ButtonAnchor> = createLink(ButtonAnchor);
export const TextLink: LinkComponent<typeof TextAnchor> = createLink(TextAnchor);
