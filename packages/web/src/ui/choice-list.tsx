/**
 * An input with a list of matching choices. Arrow keys move through the list, Enter selects. The input keeps the focus.
 */
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import classes from './choice-list.module.css';
import { Icon, type IconName } from './icon.tsx';

export interface Choice {
  /** Identifies the entry. */
  readonly key: string;
  readonly label: string;
  readonly icon: IconName;
  /** Small text at the end of the line. */
  readonly aside?: string;
}

interface ChoiceListProps<T extends Choice> {
  /** The accessible names of the input and of the list. */
  readonly label: string;
  readonly listLabel: string;
  readonly placeholder?: string;
  readonly findChoices: (typed: string) => readonly T[];
  readonly choose: (choice: T) => void;
  /** Shown if nothing matches. */
  readonly empty: string;
}

export function ChoiceList<T extends Choice>(props: ChoiceListProps<T>): ReactNode {
  const { label, listLabel, placeholder, findChoices, choose, empty } = props;
  const id = useId();
  const [typed, setTyped] = useState('');
  const [activeIndex, setActiveIndex] = useState(0);
  const found = findChoices(typed);
  const handleKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setActiveIndex((found.length + activeIndex + step) % Math.max(found.length, 1));
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing && found[activeIndex])
      choose(found[activeIndex]);
  };
  return (
    <div>
      <div className={classes.field}>
        <Icon name="search" size={18} />
        <input
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found[activeIndex] && `${id}-${activeIndex}`}
          aria-label={label}
          placeholder={placeholder}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setActiveIndex(0);
          }}
          onKeyDown={handleKeyDown}
        />
      </div>
      <div id={id} role="listbox" aria-label={listLabel} className={classes.list}>
        {found.map((each, index) => (
          <button
            key={each.key}
            id={`${id}-${index}`}
            ref={index === activeIndex ? scrollIntoView : undefined}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={index === activeIndex}
            className={classes.entry}
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => setActiveIndex(index)}
            onClick={() => choose(each)}
          >
            <Icon name={each.icon} />
            <span className={classes.label}>{each.label}</span>
            {each.aside && <span className={classes.aside}>{each.aside}</span>}
          </button>
        ))}
      </div>
      {found.length === 0 && <p className={classes.empty}>{empty}</p>}
    </div>
  );
}

/** Keeps the marked choice visible. */
function scrollIntoView(choice: HTMLElement | null): void {
  choice?.scrollIntoView({ block: 'nearest' });
}
