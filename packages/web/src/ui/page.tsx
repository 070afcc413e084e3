import { Group, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import classes from './page.module.css';
import { useProductName } from './product-name.ts';

interface PageProps {
  readonly title: string;
  /** Links to the parent pages, shown above the title. */
  readonly above?: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** The content takes the whole height and scrolls itself. */
  readonly filled?: boolean;
  /** On a phone, the content takes the place of the heading and the actions. */
  readonly isHeadingHidden?: boolean;
  readonly children: ReactNode;
}

/** A page of the shell with a heading, actions and content. It also sets the title of the tab. */
export function Page({
  title,
  above,
  description,
  actions,
  filled = false,
  isHeadingHidden = false,
  children,
}: PageProps): ReactNode {
  const productName = useProductName();
  useEffect(() => {
    document.title = `${title} · ${productName}`;
  }, [title, productName]);
  return (
    <div className={classes.page} data-filled={filled || undefined} data-without-heading={isHeadingHidden || undefined}>
      <header className={classes.header}>
        <div className={classes.words}>
          {above && <div className={classes.above}>{above}</div>}
          <Title order={1} className={classes.title}>
            {title}
          </Title>
          {description && <p className={classes.description}>{description}</p>}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </header>
      <div className={classes.content}>{children}</div>
    </div>
  );
}
