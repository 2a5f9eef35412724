import { useState } from 'react';
import { Difference } from '../editor/difference.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { WarningNotes } from '../interface/warning-notes.tsx';
import { texts } from '../texts/texts.ts';
import type { AppliedObject } from './applied-object.ts';

type State = AppliedObject['state'];

/** More would not be read; the state chooses which. */
const maxShown = 100;

/** What applying did, or would do: how many of each state, and which. */
export function AppliedList({ objects }: { objects: readonly AppliedObject[] }) {
  const [wanted, setWanted] = useState<State | ''>('');
  const counts = new Map<State, number>();
  for (const { state } of objects) counts.set(state, (counts.get(state) ?? 0) + 1);
  const shown = wanted === '' || !counts.has(wanted) ? objects : objects.filter(({ state }) => state === wanted);
  return (
    <section aria-labelledby="results">
      <h2 id="results">{texts.apply.results}</h2>
      {objects.length === 1 ? undefined : (
        <label className="states">
          {texts.apply.show}
          <select value={wanted} onChange={(event) => setWanted(event.target.value as State | '')}>
            <option value="">{texts.apply.all(objects.length)}</option>
            {[...counts].map(([state, count]) => (
              <option key={state} value={state}>
                {texts.apply.counted(count, texts.apply.states[state])}
              </option>
            ))}
          </select>
        </label>
      )}
      <ul className="applied">
        {shown.slice(0, maxShown).map((each, at) => (
          <li key={`${at} ${each.title}`}>
            <Result result={each} />
          </li>
        ))}
      </ul>
      {shown.length > maxShown ? <p>{texts.bulk.more(shown.length - maxShown)}</p> : undefined}
    </section>
  );
}

function Result({ result: { title, state, failure, warnings = [], before, after } }: { result: AppliedObject }) {
  const [isOpen, setOpen] = useState(false);
  const hasDifference = state === 'change' || state === 'create';
  return (
    <>
      <p>
        <strong>{title}</strong> <span className={`outcome ${state}`}>{texts.apply.states[state]}</span>{' '}
        {hasDifference ? (
          <button
            type="button"
            className="button plain"
            aria-expanded={isOpen}
            aria-label={`${texts.apply.difference}: ${title}`}
            onClick={() => setOpen(!isOpen)}
          >
            {texts.apply.difference}
          </button>
        ) : undefined}
      </p>
      {failure === undefined ? undefined : <FailureNote failure={failure} title={title} />}
      <WarningNotes warnings={warnings} />
      {isOpen && hasDifference ? (
        <Difference label={`${texts.apply.difference}: ${title}`} before={before} after={after} />
      ) : undefined}
    </>
  );
}
