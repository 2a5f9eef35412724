import { Header, Menu, MenuItem, MenuSection, Popover } from 'react-aria-components';
import type { PluginPage } from '../frame/plugin-pages.ts';
import { rightOf } from '../frame/plugin-request.ts';
import { missingRule } from '../server/missing-rule.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { usePermissions } from '../server/permissions.ts';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import type { ChosenObjects } from './object-actions.tsx';
import { byPlugin, maxFrameObjects } from './plugin-actions.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './actions.css';

interface ActionMenuProps {
  model: ModelInfo;
  namespace: string;
  actions: readonly PluginPage[];
  chosen: ChosenObjects;
  onChoose: (page: PluginPage) => void;
  onClose: () => void;
}

/** What plugins do with the objects, by plugin: none can pretend to be another, or the console. */
export default function ActionMenu(props: ActionMenuProps) {
  const { actions, chosen, onChoose, onClose } = props;
  const { rows, trigger } = chosen;
  const reasonOf = useReasons(props);
  return (
    <Popover
      className="popover actions"
      aria-label={labelOf(rows)}
      triggerRef={{ current: trigger }}
      isOpen
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
      placement="bottom end"
    >
      <Menu className="menu" aria-label={labelOf(rows)} autoFocus="first">
        {[...byPlugin(actions)].map(([plugin, own]) => (
          <MenuSection key={plugin}>
            <Header>{texts.frame.ofPlugin(plugin)}</Header>
            {own.map((page) => {
              const reason = reasonOf(page);
              return (
                <MenuItem
                  key={page.name}
                  id={page.name}
                  className={reason === undefined ? 'menu-item' : 'menu-item off'}
                  textValue={page.title}
                  shouldCloseOnSelect={false}
                  onAction={() => {
                    if (reason === undefined) onChoose(page);
                  }}
                >
                  <bdi>{page.title}</bdi>
                  {page.description === undefined ? undefined : <small>{page.description}</small>}
                  {reason === undefined ? undefined : <small>{reason}</small>}
                </MenuItem>
              );
            })}
          </MenuSection>
        ))}
      </Menu>
    </Popover>
  );
}

function labelOf(rows: readonly RowMeta[]): string {
  const [row] = rows;
  return rows.length === 1 && row !== undefined ? texts.actions.of(row.name) : texts.actions.ofSelected(rows.length);
}

/** Why the user cannot do it; undefined if nothing is known against it. */
function useReasons({ model, namespace, chosen: { rows } }: ActionMenuProps): (page: PluginPage) => string | undefined {
  const [row] = rows;
  const target =
    rows.length === 1 && row !== undefined
      ? { model, namespace: row.namespace ?? '', name: row.name }
      : { model, namespace };
  const mayAnywhere = usePermissions('');
  const mayHere = usePermissions(target.namespace);
  return ({ action }) => {
    if (action === undefined) return rows.length > maxFrameObjects ? texts.actions.tooMany(maxFrameObjects) : undefined;
    const right = rightOf(action, target);
    const may = right.namespace === '' ? mayAnywhere : mayHere;
    return may(right) ? undefined : texts.navigation.noRight(missingRule(right));
  };
}
