import { Modal, NativeSelect, PasswordInput, Radio, Stack, Text, TextInput } from '@mantine/core';
import type { Backup } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { useApplications } from '../../data/queries.ts';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useBackupTexts } from '../../ui/i18n/backup-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { mainApplicationName } from '../applications/application-parts.tsx';

interface RestoreDialogProps {
  readonly backup: Backup;
  readonly close: () => void;
}

/** Restores one application of a backup, over itself or as a copy. */
export function RestoreDialog({ backup, close }: RestoreDialogProps): ReactNode {
  const t = useBackupTexts();
  const isMain = (name: string): boolean => name === mainApplicationName;
  // The restore of main concerns everybody, so it is not proposed first.
  const names = [...backup.applications].sort((one, other) => Number(isMain(one)) - Number(isMain(other)));
  return (
    <Modal opened onClose={close} title={t.restoreTitle} size="md">
      <RestoreForm backup={backup} names={names} close={close} />
    </Modal>
  );
}

function RestoreForm({ backup, names, close }: RestoreDialogProps & { names: readonly string[] }): ReactNode {
  const t = useBackupTexts();
  const { confirmTyping } = useTexts().common;
  const applications = useApplications(true).data;
  const [name, setName] = useState(names[0] ?? '');
  const [mode, setMode] = useState('replace');
  const [typed, setTyped] = useState('');
  const [copyName, setCopyName] = useState('');
  const [identity, setIdentity] = useState('');
  const exists = applications?.some((each) => each.name === name) ?? true;
  const isMain = name === mainApplicationName;
  const isCopy = mode === 'copy' && !isMain;
  const replaceHint = isMain ? t.replaceMainHint : t.replaceHint;
  const restore = useApiMutation({
    write: (client) =>
      client.backups().restore(backup.id, {
        application: name,
        ...(isCopy && { as: copyName.trim() }),
        ...(!isCopy && exists && { confirm: typed }),
        ...(backup.isEncrypted && { identity }),
      }),
    changes: ['backups', 'applications'],
    done: () => {
      toast(t.restoreBegun);
      close();
    },
  });
  const isReady =
    (isCopy ? copyName.trim() !== '' : !exists || typed === name) && !(backup.isEncrypted && identity === '');
  return (
    <DialogForm write={restore} submitLabel={t.doRestore} cancel={close} isReady={isReady}>
      <Text size="sm">{isMain ? t.restoreMainText : t.restoreText}</Text>
      <NativeSelect
        label={t.application}
        data={[...names]}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <Radio.Group label={t.mode} value={isMain ? 'replace' : mode} onChange={setMode}>
        <Stack gap="xs" mt={4}>
          <Radio value="replace" label={t.replace} description={exists ? replaceHint : t.newHint} />
          {!isMain && <Radio value="copy" label={t.copy} description={t.copyHint} />}
        </Stack>
      </Radio.Group>
      {isCopy && (
        <TextInput
          label={t.newName}
          value={copyName}
          onChange={(event) => setCopyName(event.currentTarget.value)}
          autoComplete="off"
          required
        />
      )}
      {!isCopy && exists && (
        <TextInput
          label={confirmTyping(name)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
        />
      )}
      {backup.isEncrypted && (
        <PasswordInput
          label={t.identity}
          description={t.identityHint}
          value={identity}
          onChange={(event) => setIdentity(event.currentTarget.value)}
          autoComplete="off"
          required
        />
      )}
    </DialogForm>
  );
}
