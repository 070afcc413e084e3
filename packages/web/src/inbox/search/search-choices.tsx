import { Fragment, type ReactNode } from 'react';
import type { InboxView } from '../inbox-search.ts';
import classes from './search-field.module.css';

/** One choice below the search field. */
export interface SearchChoice {
  readonly key: string;
  readonly label: string;
  /** What the label means. */
  readonly hint?: string;
  /** The search text after the choice. */
  readonly text: string;
  /** The text is searched at once; otherwise the user goes on typing. */
  readonly isComplete?: boolean;
  /** The view that is shown instead. */
  readonly view?: InboxView;
}

export interface ChoiceGroup {
  readonly title: string;
  readonly choices: readonly SearchChoice[];
}

interface SearchChoicesProps {
  readonly id: string;
  readonly groups: readonly ChoiceGroup[];
  /** The index of the choice at the keyboard, over all groups. */
  readonly active: number | null;
  readonly choose: (choice: SearchChoice) => void;
}

/** The list of a combobox: the focus stays in its input. */
export function SearchChoices({ id, groups, active, choose }: SearchChoicesProps): ReactNode {
  const keys = groups.flatMap(({ choices }) => choices.map(({ key }) => key));
  return (
    <div className={classes.hints} id={id} role="listbox">
      {groups.map(({ title, choices }) => (
        <Fragment key={title}>
          <div className={classes.title} role="presentation">
            {title}
          </div>
          {choices.map((choice) => {
            const index = keys.indexOf(choice.key);
            return (
              <div
                key={choice.key}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === active}
                className={classes.hint}
                data-active={index === active || undefined}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(choice)}
                onKeyDown={() => {}}
              >
                <code dir="auto">{choice.label}</code>
                {choice.hint !== undefined && <span>{choice.hint}</span>}
              </div>
            );
          })}
        </Fragment>
      ))}
    </div>
  );
}
