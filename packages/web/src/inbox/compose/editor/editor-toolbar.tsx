import { Button, Group, Popover, TextInput } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { useComposeTexts } from '../../../ui/i18n/compose-texts.ts';
import type { IconName } from '../../../ui/icon.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { useStore } from '../../../ui/store.ts';
import type { CommandName, Formatting } from './editor-commands.ts';
import { toLinkAddress } from './link-address.ts';
import type { MessageEditor } from './message-editor.ts';
import classes from './rich-text-editor.module.css';

interface ToolbarButton {
  readonly name: CommandName;
  readonly icon: IconName;
  readonly isPressed?: (formatting: Formatting) => boolean;
}

const characterButtons: readonly ToolbarButton[] = [
  { name: 'strong', icon: 'bold', isPressed: ({ strong }) => strong },
  { name: 'em', icon: 'italic', isPressed: ({ em }) => em },
  { name: 'underline', icon: 'underline', isPressed: ({ underline }) => underline },
];
const blockButtons: readonly ToolbarButton[] = [
  { name: 'heading1', icon: 'heading1', isPressed: ({ heading }) => heading === 1 },
  { name: 'heading2', icon: 'heading2', isPressed: ({ heading }) => heading === 2 },
  { name: 'bulletList', icon: 'bulletList', isPressed: ({ bulletList }) => bulletList },
  { name: 'orderedList', icon: 'orderedList', isPressed: ({ orderedList }) => orderedList },
  { name: 'quote', icon: 'quote', isPressed: ({ quote }) => quote },
  { name: 'clear', icon: 'clearFormat' },
];

interface EditorToolbarProps {
  readonly editor: MessageEditor;
  readonly isLinkOpen: boolean;
  readonly setLinkOpen: (isOpen: boolean) => void;
}

/**
 * The buttons above the text, which follow it in the order of the Tab key. The toolbar is one stop of that key; the arrow keys move
 * between its buttons.
 */
export function EditorToolbar({ editor, isLinkOpen, setLinkOpen }: EditorToolbarProps): ReactNode {
  const t = useComposeTexts().format;
  const formatting = useStore(editor);
  const [current, setCurrent] = useState(0);
  const handleKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || !(event.target instanceof HTMLButtonElement)) return;
    const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>('[data-tool]')];
    const next = (buttons.indexOf(event.target) + step + buttons.length) % buttons.length;
    event.preventDefault();
    setCurrent(next);
    buttons[next]?.focus();
  };
  const toButton = ({ name, icon, isPressed }: ToolbarButton, index: number): ReactNode => (
    <IconButton
      key={name}
      icon={icon}
      size="md"
      label={t[name]}
      data-tool
      tabIndex={index === current ? 0 : -1}
      onClick={() => editor.run(name)}
      {...(isPressed && { pressed: isPressed(formatting) })}
    />
  );
  return (
    <div className={classes.toolbar} role="toolbar" aria-label={t.title} onKeyDown={handleKeyDown}>
      {characterButtons.map(toButton)}
      <LinkButton
        key={String(isLinkOpen)}
        link={formatting.link}
        isOpen={isLinkOpen}
        setOpen={setLinkOpen}
        set={(href) => editor.setLink(href)}
        focusText={() => editor.focus()}
        tabIndex={current === characterButtons.length ? 0 : -1}
      />
      {blockButtons.map((each, index) => toButton(each, characterButtons.length + 1 + index))}
    </div>
  );
}

interface LinkButtonProps {
  /** The link at the cursor, or null. */
  readonly link: string | null;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  readonly set: (href: string | null) => void;
  readonly focusText: () => void;
  readonly tabIndex: number;
}

/** The button for links, with a field for the address. */
function LinkButton({ link, isOpen, setOpen, set, focusText, tabIndex }: LinkButtonProps): ReactNode {
  const t = useComposeTexts().format;
  const [address, setAddress] = useState(link ?? '');
  const href = toLinkAddress(address);
  const finish = (change: string | null): void => {
    setOpen(false);
    set(change);
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      event.preventDefault();
      event.stopPropagation();
      if (href !== null) finish(href);
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      setOpen(false);
      focusText();
    }
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" trapFocus shadow="md" withinPortal={false}>
      <Popover.Target>
        <IconButton
          icon="link"
          size="md"
          label={t.link}
          data-tool
          tabIndex={tabIndex}
          pressed={link !== null}
          onClick={() => setOpen(!isOpen)}
        />
      </Popover.Target>
      <Popover.Dropdown onKeyDown={handleKeyDown}>
        <TextInput
          label={t.address}
          placeholder={t.addressExample}
          value={address}
          error={address !== '' && href === null && t.noAddress}
          onChange={(event) => setAddress(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
        />
        <Group gap="xs" mt="xs">
          <Button size="compact-sm" disabled={href === null} onClick={() => finish(href)}>
            {t.setLink}
          </Button>
          {link !== null && (
            <Button size="compact-sm" variant="default" onClick={() => finish(null)}>
              {t.removeLink}
            </Button>
          )}
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}
