import { Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { useStore } from '../../ui/store.ts';
import { changeLayout, densities, type ListLayout, listLayout, splits } from './list-layout.ts';

/** Chooses the density of the list and, where there is room, where it is. */
export function LayoutMenu({ isNarrow }: { isNarrow: boolean }): ReactNode {
  const t = useInboxTexts().layout;
  const { density, split } = useStore(listLayout);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <IconButton icon="sliders" size="md" label={t.title} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.density}</Menu.Label>
        <Menu.RadioGroup
          value={density}
          onChange={(value) => changeLayout({ density: value as ListLayout['density'] })}
        >
          {densities.map((each) => (
            <Menu.RadioItem key={each} value={each}>
              {t.densities[each]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        {!isNarrow && (
          <>
            <Menu.Label>{t.split}</Menu.Label>
            <Menu.RadioGroup value={split} onChange={(value) => changeLayout({ split: value as ListLayout['split'] })}>
              {splits.map((each) => (
                <Menu.RadioItem key={each} value={each}>
                  {t.splits[each]}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
