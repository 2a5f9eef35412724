import { useId, useState, type FormEvent } from 'react';
import { PageDialog } from '../interface/page-dialog.tsx';
import type { TableColumn } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import { directionOf, keyOf, withSortKey, type ListView } from './list-view.ts';
import type { IndexFact } from './model-facts.ts';
import { shownColumns } from './shown-columns.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './columns-dialog.css';

interface ColumnsDialogProps {
  all: readonly TableColumn[];
  indexes: readonly IndexFact[];
  view: ListView;
  onChange: (view: ListView) => void;
  onClose: () => void;
}

/** The server takes no more. */
const maxKeys = 8;

/** Which columns a list shows, and by which fields it is sorted; the list behind shows each change. */
export default function ColumnsDialog({ all, indexes, view, onChange, onClose }: ColumnsDialogProps) {
  const reset = (): void => onChange({ ...view, columns: [], sort: [] });
  return (
    <PageDialog title={texts.columns.title} onClose={onClose}>
      <Columns all={all} view={view} onChange={onChange} />
      <Order indexes={indexes} view={view} onChange={onChange} />
      <div className="buttons">
        <button type="button" className="button plain" onClick={reset}>
          {texts.columns.reset}
        </button>
        <button type="button" className="button primary" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </PageDialog>
  );
}

function Columns({ all, view, onChange }: Pick<ColumnsDialogProps, 'all' | 'view' | 'onChange'>) {
  const id = useId();
  const [name, ...shown] = shownColumns(all, view.columns);
  const names = shown.map((column) => column.name);
  const hidden = all.slice(1).filter((column) => !names.includes(column.name));
  // The name is part of a choice, so that it can be the only column.
  const choose = (chosen: readonly string[]): void => onChange({ ...view, columns: [name!.name, ...chosen] });
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{texts.columns.columns}</h3>
      <ul className="columns">
        {[...shown, ...hidden].map((column) => {
          const isShown = names.includes(column.name);
          return (
            <li key={column.name}>
              <label className="check">
                <input
                  type="checkbox"
                  checked={isShown}
                  onChange={() =>
                    choose(isShown ? names.filter((each) => each !== column.name) : [...names, column.name])
                  }
                />
                {column.name}
              </label>
              {isShown ? <MoveButtons what={column.name} all={names} onMove={choose} /> : undefined}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Order({ indexes, view, onChange }: Pick<ColumnsDialogProps, 'indexes' | 'view' | 'onChange'>) {
  const id = useId();
  const { sort } = view;
  const keys = sort.map(keyOf);
  const others = indexes.filter(({ name, isMulti }) => !isMulti && !keys.includes(name));
  const [wanted, setWanted] = useState('');
  const chosen = others.find(({ name }) => name === wanted) ?? others[0];
  const change = (next: readonly string[]): void => onChange({ ...view, sort: next });
  const add = (event: FormEvent): void => {
    event.preventDefault();
    if (chosen !== undefined) change([...sort, chosen.name]);
  };
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{texts.columns.order}</h3>
      {sort.length === 0 ? <p>{texts.columns.noOrder}</p> : undefined}
      <ol className="columns">
        {keys.map((key) => (
          <li key={key}>
            <span className="sort-key">{key}</span>
            <select
              aria-label={texts.columns.direction(key)}
              value={directionOf(sort, key)}
              onChange={(event) =>
                change(withSortKey(sort, key, event.target.value === 'descending' ? 'descending' : 'ascending'))
              }
            >
              <option value="ascending">{texts.columns.ascending}</option>
              <option value="descending">{texts.columns.descending}</option>
            </select>
            <MoveButtons what={key} all={sort} isAt={(each) => keyOf(each) === key} onMove={change} />
            <button
              type="button"
              className="button plain"
              aria-label={texts.columns.drop(key)}
              onClick={() => change(sort.filter((each) => keyOf(each) !== key))}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      {chosen === undefined || sort.length >= maxKeys ? undefined : (
        <form className="add-key" onSubmit={add}>
          <label>
            {texts.columns.add}
            <select value={chosen.name} onChange={(event) => setWanted(event.target.value)}>
              {others.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" className="button plain">
            {texts.columns.addButton}
          </button>
        </form>
      )}
    </section>
  );
}

interface MoveButtonsProps {
  what: string;
  all: readonly string[];
  isAt?: (each: string) => boolean;
  onMove: (all: readonly string[]) => void;
}

function MoveButtons({ what, all, isAt = (each) => each === what, onMove }: MoveButtonsProps) {
  const at = all.findIndex(isAt);
  const move = (event: React.MouseEvent<HTMLButtonElement>, by: -1 | 1): void => {
    const to = at + by;
    if (to < 0 || to >= all.length) return;
    const button = event.currentTarget;
    onMove(all.toSpliced(at, 1).toSpliced(to, 0, all[at]!));
    // An element that moves loses the focus.
    requestAnimationFrame(() => button.focus());
  };
  return (
    <>
      <button
        type="button"
        className="button plain"
        aria-label={texts.columns.earlier(what)}
        aria-disabled={at === 0}
        onClick={(event) => move(event, -1)}
      >
        ↑
      </button>
      <button
        type="button"
        className="button plain"
        aria-label={texts.columns.later(what)}
        aria-disabled={at === all.length - 1}
        onClick={(event) => move(event, 1)}
      >
        ↓
      </button>
    </>
  );
}
