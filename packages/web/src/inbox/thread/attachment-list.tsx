import { Modal, UnstyledButton } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { messageOf } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Attachment } from '../mail.ts';
import { sizeText } from '../size-text.ts';
import classes from './attachment-list.module.css';

/** Files of an e-mail: each can be saved, images and texts looked at. Images that stand in its text are not listed. */
export function AttachmentList({ attachments }: { attachments: readonly Attachment[] }): ReactNode {
  const t = useInboxTexts().attachment;
  const application = useApplication();
  const [shown, setShown] = useState<Attachment | null>(null);
  if (attachments.length === 0) return null;
  const save = async (file: Attachment): Promise<void> => {
    try {
      saveFile(await bytesOf(application, file), file.filename ?? t.unnamed);
    } catch (error) {
      toast(messageOf(error), { failed: true });
    }
  };
  return (
    <>
      <ul className={classes.list} aria-label={t.list}>
        {attachments.map((file) => (
          <li key={file.id} className={classes.file}>
            <UnstyledButton
              className={classes.name}
              onClick={() => (isShown(file) ? setShown(file) : void save(file))}
              aria-label={isShown(file) ? t.preview(file.filename ?? t.unnamed) : t.save(file.filename ?? t.unnamed)}
            >
              <Icon name="paperclip" size={14} />
              <span>{file.filename ?? t.unnamed}</span>
              <span className={classes.size}>{sizeText(file.size ?? 0)}</span>
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
      <Modal opened={shown !== null} onClose={() => setShown(null)} title={shown?.filename} size="xl">
        {shown && <Preview file={shown} />}
      </Modal>
    </>
  );
}

function isShown({ sniffedType }: Attachment): boolean {
  return sniffedType !== null && (sniffedType.startsWith('image/') || sniffedType === 'text/plain');
}

/** The bytes, of the type that they were seen to be. */
async function bytesOf(application: string, file: Attachment): Promise<Blob> {
  const bytes = await (await clientOf(application).send(`attachments/${file.id}`)).blob();
  return new Blob([bytes], { type: file.sniffedType ?? 'application/octet-stream' });
}

/** Texts are shown up to here. */
const longestText = 200_000;

function Preview({ file }: { file: Attachment }): ReactNode {
  const application = useApplication();
  const [content, setContent] = useState<{ image?: string; text?: string; failed?: string } | null>(null);
  useEffect(() => {
    let address: string | null = null;
    let over = false;
    const read = async (): Promise<void> => {
      const bytes = await bytesOf(application, file);
      if (over) return;
      if (file.sniffedType === 'text/plain') return setContent({ text: (await bytes.text()).slice(0, longestText) });
      address = URL.createObjectURL(bytes);
      setContent({ image: address });
    };
    read().catch((error: unknown) => setContent({ failed: messageOf(error) }));
    return () => {
      over = true;
      if (address !== null) URL.revokeObjectURL(address);
    };
  }, [application, file]);
  if (content?.image) return <img className={classes.image} src={content.image} alt={file.filename ?? ''} />;
  if (content?.text !== undefined) return <pre className={classes.text}>{content.text}</pre>;
  return <p role={content?.failed ? 'alert' : 'status'}>{content?.failed}</p>;
}
