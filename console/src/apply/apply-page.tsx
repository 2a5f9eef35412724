import { useState } from 'react';
import { Difference } from '../editor/difference.tsx';
import { YamlEditor } from '../editor/yaml-editor.tsx';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useUnsaved } from '../interface/unsaved.ts';
import { useTitle } from '../interface/use-title.ts';
import { readText } from '../object/editable-text.ts';
import { texts } from '../texts/texts.ts';
import { applyObjects, checkObjects, type AppliedObject } from './applied-object.ts';

/** The server refuses larger bodies, one object at a time; this bounds what the page holds. */
const maxBytes = 10 * 1024 * 1024;

/** Many objects at once: checked and compared first, applied then. */
export default function ApplyPage() {
  useTitle(texts.apply.title);
  const [text, setText] = useState('');
  const [force, setForce] = useState(false);
  const [objects, setObjects] = useState<readonly AppliedObject[] | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const isDone = objects?.every(({ state }) => state === 'applied') ?? false;
  useUnsaved(text !== '' && !isDone);

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setFailure(undefined);
    setBusy(true);
    try {
      await work();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const change = (next: string): void => {
    setText(next);
    // What was checked is another text.
    setObjects(undefined);
  };
  const check = (): Promise<void> =>
    attempt(async () => {
      const found = readText(text);
      if (found.length === 0) throw new Error(texts.apply.empty);
      setObjects(await checkObjects(found, { force }));
    });
  const applyAll = (): Promise<void> =>
    attempt(() =>
      applyObjects(objects!, { force }, (index, result) => {
        setObjects((known) => known?.with(index, result));
      }),
    );
  const readFiles = (files: readonly File[]): Promise<void> =>
    attempt(async () => {
      if (files.reduce((sum, { size }) => sum + size, 0) > maxBytes) throw new Error(texts.apply.tooLarge);
      const contents = await Promise.all(files.map((file) => file.text()));
      change([text, ...contents].filter((each) => each.trim() !== '').join('\n---\n'));
    });

  return (
    <div className="edit-panel">
      <h1>{texts.apply.title}</h1>
      <p>{texts.apply.intro}</p>
      <p>
        <label>
          {texts.apply.files}{' '}
          <input
            type="file"
            multiple
            accept=".yaml,.yml,.json"
            onChange={(event) => {
              const files = [...(event.target.files ?? [])];
              // The same file can be chosen again.
              event.target.value = '';
              void readFiles(files);
            }}
          />
        </label>
      </p>
      <YamlEditor label={texts.apply.text} value={text} onChange={change} />
      <div className="buttons apply-buttons">
        <ActionButton
          kind={objects === undefined ? 'primary' : 'plain'}
          onAction={() => void check()}
          isDisabled={isBusy}
        >
          {texts.apply.check}
        </ActionButton>
        {objects === undefined || isDone ? undefined : (
          <ActionButton kind="primary" onAction={() => void applyAll()} isDisabled={isBusy}>
            {texts.apply.apply(objects.length)}
          </ActionButton>
        )}
        <label className="check">
          <input
            type="checkbox"
            checked={force}
            onChange={(event) => {
              setForce(event.target.checked);
              setObjects(undefined);
            }}
          />
          {texts.apply.force}
        </label>
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {objects === undefined ? undefined : (
        <section aria-labelledby="results">
          <h2 id="results">{texts.apply.results}</h2>
          <ul className="applied">
            {objects.map((each, at) => (
              <li key={`${at} ${each.title}`}>
                <Result result={each} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Result({ result: { title, state, failure, before, after } }: { result: AppliedObject }) {
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
      {isOpen && hasDifference ? (
        <Difference label={`${texts.apply.difference}: ${title}`} before={before} after={after} />
      ) : undefined}
    </>
  );
}
