/** Buttons and texts that lead to another page of the interface. */
import { Anchor, Button } from '@mantine/core';
import { createLink } from '@tanstack/react-router';

export const ButtonLink = createLink(Button<'a'>);
export const TextLink = createLink(Anchor<'a'>);
