import { Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useProductName } from '../ui/product-name.ts';
import mark from '../ui/theme/mark.svg';
import classes from './card-page.module.css';

/** A page without the shell, with one card in the centre, for users who are not signed in. */
export function CardPage({
  title,
  text,
  children,
}: {
  title: string;
  text?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const productName = useProductName();
  useEffect(() => {
    document.title = `${title} · ${productName}`;
  }, [title, productName]);
  return (
    <main className={classes.page}>
      <div className={classes.brand}>
        <img src={mark} alt="" width={28} height={28} />
        <span>{productName}</span>
      </div>
      <Paper className={classes.card} withBorder p="lg" radius="md">
        <Stack gap="md">
          <div>
            <Title order={1}>{title}</Title>
            {text && <Text c="dimmed">{text}</Text>}
          </div>
          {children}
        </Stack>
      </Paper>
    </main>
  );
}
