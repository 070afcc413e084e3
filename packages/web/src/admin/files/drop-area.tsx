import { type DragEvent, type ReactNode, type Ref, useState } from 'react';
import classes from './file-list.module.css';

interface DropAreaProps {
  readonly ref?: Ref<HTMLDivElement>;
  readonly label: string;
  /** Null where files cannot be added. */
  readonly drop: ((files: readonly File[]) => void) | null;
  readonly children: ReactNode;
}

/** A group that takes files that are dropped on it. */
export function DropArea({ ref, label, drop, children }: DropAreaProps): ReactNode {
  const [isOver, setOver] = useState(false);
  const handleDragOver = (event: DragEvent): void => {
    if (!drop || !event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    setOver(true);
  };
  const handleDrop = (event: DragEvent): void => {
    setOver(false);
    if (!drop || !event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    drop([...event.dataTransfer.files]);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be styled as a drop area in all browsers
    <div
      ref={ref ?? null}
      role="group"
      tabIndex={-1}
      aria-label={label}
      className={classes.drop}
      data-over={isOver || undefined}
      onDragOver={handleDragOver}
      onDragLeave={() => setOver(false)}
      onDrop={handleDrop}
    >
      {children}
    </div>
  );
}
