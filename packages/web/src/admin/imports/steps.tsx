import { Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import classes from './steps.module.css';

/** The steps of a wizard, with the current one marked. */
export function Steps({
  label,
  names,
  current,
}: {
  readonly label: string;
  readonly names: readonly string[];
  readonly current: number;
}): ReactNode {
  return (
    <ol className={classes.steps} aria-label={label}>
      {names.map((name, index) => (
        <li key={name} className={classes.step} aria-current={index === current ? 'step' : undefined}>
          <span className={classes.number} aria-hidden="true">
            {index + 1}
          </span>
          {name}
        </li>
      ))}
    </ol>
  );
}

/** The heading of a step. It takes the focus that was on a button of the step before. */
export function StepHeading({ children }: { readonly children: ReactNode }): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <Title order={2} ref={heading} tabIndex={-1} className={classes.heading}>
      {children}
    </Title>
  );
}

/** Names and numbers as a row of boxes. */
export function Figures({ items }: { readonly items: readonly (readonly [name: string, value: string])[] }): ReactNode {
  return (
    <dl className={classes.figures}>
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
