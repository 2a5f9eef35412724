import { useEffect, useId, useState, type FormEvent } from 'react';
import { server } from '../server/server.ts';
import { texts } from '../texts/texts.ts';

const namespaceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
/** A longer list is typed, not chosen from. */
const maxOptions = 500;

/** Chooses among the namespaces that the user can list; any other one can be typed. */
export function NamespaceChooser({ value, onChange }: { value: string; onChange: (namespace: string) => void }) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    const end = new AbortController();
    server
      .resource(namespaceType)
      .list({ limit: maxOptions, signal: end.signal })
      .then(
        ({ items }) => setNames(items.map(({ metadata }) => metadata.name)),
        // Who may not list them types.
        () => undefined,
      );
    return () => end.abort();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChange(typed.trim());
  };
  return (
    <form className="namespace" onSubmit={submit}>
      <label>
        {texts.namespace.label}
        <input
          list={id}
          value={typed}
          placeholder={texts.namespace.all}
          onChange={(event) => {
            setTyped(event.target.value);
            // One was chosen, not typed.
            if (names.includes(event.target.value) || event.target.value === '') onChange(event.target.value);
          }}
        />
      </label>
      <datalist id={id}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" className="button plain">
        {texts.namespace.go}
      </button>
    </form>
  );
}
