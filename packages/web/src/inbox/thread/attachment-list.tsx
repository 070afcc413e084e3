import { Modal, UnstyledButton } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { formatSize } from '../../ui/size-text.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Attachment } from '../mail-types.ts';
import classes from './attachment-list.module.css';

/** The attachments of an e-mail. Images and texts have a preview. Inline images are not listed. */
export function AttachmentList({ attachments }: { attachments: readonly Attachment[] }): ReactNode {
  const t = useInboxTexts().attachment;
  const application = useApplication();
  const [previewed, setPreviewed] = useState<Attachment | null>(null);
  if (attachments.length === 0) return null;
  const save = async (file: Attachment): Promise<void> => {
    try {
      saveFile(await fetchBytes(application, file), file.filename ?? t.unnamed);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  return (
    <>
      <ul className={classes.list} aria-label={t.list}>
        {attachments.map((file) => (
          <li key={file.id} className={classes.file}>
            <UnstyledButton
              className={classes.name}
              onClick={() => (isPreviewable(file) ? setPreviewed(file) : void save(file))}
              aria-label={describeFile(file, isPreviewable(file) ? t.preview : t.save, t.unnamed)}
            >
              <Icon name="paperclip" size={14} />
              <span>{file.filename ?? t.unnamed}</span>{' '}
              <span className={classes.size}>{formatSize(file.size ?? 0)}</span>
            </UnstyledButton>
            <IconButton
              icon="arrowDown"
              size="sm"
              label={t.save(file.filename ?? t.unnamed)}
              onClick={() => void save(file)}
            />
          </li>
        ))}
      </ul>
      <Modal opened={previewed !== null} onClose={() => setPreviewed(null)} title={previewed?.filename} size="xl">
        {previewed && <Preview file={previewed} />}
      </Modal>
    </>
  );
}

/** The accessible name of a file: it contains everything that is visible. */
function describeFile({ filename, size }: Attachment, describe: (name: string) => string, unnamed: string): string {
  return `${describe(filename ?? unnamed)} ${formatSize(size ?? 0)}`;
}

function isPreviewable({ sniffedType }: Attachment): boolean {
  return sniffedType !== null && (sniffedType.startsWith('image/') || sniffedType === 'text/plain');
}

/** The content of an attachment with its detected media type. */
async function fetchBytes(application: string, file: Attachment): Promise<Blob> {
  const bytes = await (await getClient(application).send(`attachments/${file.id}`)).blob();
  return new Blob([bytes], { type: file.sniffedType ?? 'application/octet-stream' });
}

/** Maximum number of bytes of a text preview. */
const maxTextLength = 200_000;

function Preview({ file }: { file: Attachment }): ReactNode {
  const application = useApplication();
  const [content, setContent] = useState<{ image?: string; text?: string; failed?: string } | null>(null);
  useEffect(() => {
    let address: string | null = null;
    let isOver = false;
    const load = async (): Promise<void> => {
      const bytes = await fetchBytes(application, file);
      if (isOver) return;
      if (file.sniffedType === 'text/plain') return setContent({ text: (await bytes.text()).slice(0, maxTextLength) });
      address = URL.createObjectURL(bytes);
      setContent({ image: address });
    };
    load().catch((error: unknown) => setContent({ failed: getErrorMessage(error) }));
    return () => {
      isOver = true;
      if (address !== null) URL.revokeObjectURL(address);
    };
  }, [application, file]);
  if (content?.image) return <img className={classes.image} src={content.image} alt={file.filename ?? ''} />;
  if (content?.text !== undefined) return <pre className={classes.text}>{content.text}</pre>;
  return <p role={content?.failed ? 'alert' : 'status'}>{content?.failed}</p>;
}
