import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { useShortcut } from '../interface/shortcuts.ts';
import { texts } from '../texts/texts.ts';
import { localTime, timestampOf, type FormChoice } from './record-form.tsx';
import { useViewParams } from './view-params.ts';

export interface FilterField {
  name: string;
  label: string;
  kind: 'text' | 'search' | 'time' | readonly FormChoice[];
}

/** Filters that the URL holds. A choice acts at once; what is typed acts with Enter. */
export function FilterForm({ before, fields }: { before?: ReactNode; fields: readonly FilterField[] }) {
  const view = useViewParams();
  const form = useRef<HTMLFormElement>(null);
  useShortcut('/', () => form.current?.querySelector<HTMLElement>('input, select')?.focus());
  const ofUrl = JSON.stringify(fields.map(({ name }) => view.get(name)));
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  // The URL is another one: what was typed for the one before goes.
  useEffect(() => setTyped({}), [ofUrl]);
  const valueOf = ({ name, kind }: FilterField): string =>
    typed[name] ?? (kind === 'time' ? localTime(view.get(name) || null) : view.get(name));
  const apply = (event: FormEvent): void => {
    event.preventDefault();
    view.set(
      Object.fromEntries(
        fields
          .filter(({ name }) => typed[name] !== undefined)
          .map(({ name, kind }) => [name, kind === 'time' ? (timestampOf(typed[name]!) ?? '') : typed[name]!.trim()]),
      ),
    );
  };
  const isFiltered = fields.some(({ name }) => view.get(name) !== '');
  return (
    <section className="filter" aria-label={texts.filter.label}>
      <form ref={form} onSubmit={apply}>
        {before}
        {fields.map((field) => (
          <label key={field.name} className={field.kind === 'time' ? 'time' : undefined}>
            {field.label}
            {typeof field.kind === 'object' ? (
              <select value={view.get(field.name)} onChange={({ target }) => view.set({ [field.name]: target.value })}>
                {field.kind.map(({ value, label }) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            ) : (
              <input
                type={field.kind === 'time' ? 'datetime-local' : field.kind}
                value={valueOf(field)}
                onChange={({ target }) => setTyped({ ...typed, [field.name]: target.value })}
              />
            )}
          </label>
        ))}
        <button type="submit" className="button plain">
          {texts.access.filter}
        </button>
        {isFiltered ? (
          <button
            type="button"
            className="button plain"
            onClick={() => {
              setTyped({});
              view.set(Object.fromEntries(fields.map(({ name }) => [name, ''])));
            }}
          >
            {texts.access.clearFilter}
          </button>
        ) : undefined}
      </form>
    </section>
  );
}
