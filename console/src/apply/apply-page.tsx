import { useEffect, useRef, useState } from 'react';
import { YamlEditor } from '../editor/yaml-editor.tsx';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useUnsaved } from '../interface/unsaved.ts';
import { useTitle } from '../interface/use-title.ts';
import { texts } from '../texts/texts.ts';
import { applyObjects, checkObjects, inOrder, type AppliedObject, type RunOptions } from './applied-object.ts';
import { AppliedList } from './applied-list.tsx';
import { longText, readTexts } from './read-texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './apply.css';

/** The server refuses larger bodies, one object at a time; this bounds what the page holds. */
const maxBytes = 64 * 1024 * 1024;
/** Results are shown anew after so many. */
const resultsAtOnce = 25;

interface Progress {
  state: 'checking' | 'applying' | 'stopped';
  done: number;
  all: number;
}

/** A file that is not in the editor: it is too long to be read there, or is JSON lines. */
interface ChosenFile {
  name: string;
  text: string;
}

/** Many objects at once: checked and compared first, applied then. */
export default function ApplyPage() {
  useTitle(texts.apply.title);
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly ChosenFile[]>([]);
  const [force, setForce] = useState(false);
  const [objects, setObjects] = useState<readonly AppliedObject[] | undefined>(undefined);
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);
  const left = objects?.filter(({ state }) => state !== 'applied').length ?? 0;
  useUnsaved((text !== '' || files.length > 0) && !(objects !== undefined && left === 0));

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
  /** What was checked is another text. */
  const forget = (): void => {
    setObjects(undefined);
    setProgress(undefined);
  };
  /** Collects results, and shows how far it is. */
  const runWith = async (
    state: 'checking' | 'applying',
    all: number,
    { results, work }: { results: (AppliedObject | undefined)[]; work: (options: RunOptions) => Promise<void> },
  ): Promise<void> => {
    end.current = new AbortController();
    const { signal } = end.current;
    let done = 0;
    const show = (): void => setProgress({ state, done, all });
    show();
    const onResult = (index: number, result: AppliedObject): void => {
      results[index] = result;
      done += 1;
      show();
      if (state === 'applying' && done % resultsAtOnce === 0) setObjects(results.filter((each) => each !== undefined));
    };
    await work({ force, signal, onResult });
    setProgress(signal.aborted ? { state: 'stopped', done, all } : undefined);
    const whole = results.filter((each) => each !== undefined);
    // What was not checked cannot be applied.
    setObjects(whole.length === results.length ? whole : undefined);
  };
  const check = (): Promise<void> =>
    attempt(async () => {
      forget();
      const found = inOrder(await readTexts([text, ...files.map((file) => file.text)]));
      if (found.length === 0) throw new Error(texts.apply.empty);
      await runWith('checking', found.length, {
        results: Array.from({ length: found.length }, () => undefined),
        work: (options) => checkObjects(found, options),
      });
    });
  const applyAll = (): Promise<void> =>
    attempt(() =>
      runWith('applying', left, { results: [...objects!], work: (options) => applyObjects(objects!, options) }),
    );
  const readFiles = (chosen: readonly File[]): Promise<void> =>
    attempt(async () => {
      const held = text.length + files.reduce((sum, file) => sum + file.text.length, 0);
      if (chosen.reduce((sum, { size }) => sum + size, held) > maxBytes) throw new Error(texts.apply.tooLarge);
      const read = await Promise.all(chosen.map(async (file) => ({ name: file.name, text: await file.text() })));
      const isApart = (file: ChosenFile): boolean =>
        file.text.length > longText || /\.(?:jsonl|ndjson)$/.test(file.name);
      const short = read.filter((file) => !isApart(file)).map((file) => file.text);
      setText([text, ...short].filter((each) => each.trim() !== '').join('\n---\n'));
      setFiles([...files, ...read.filter(isApart)]);
      forget();
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
            accept=".yaml,.yml,.json,.jsonl,.ndjson"
            onChange={(event) => {
              const chosen = [...(event.target.files ?? [])];
              // The same file can be chosen again.
              event.target.value = '';
              void readFiles(chosen);
            }}
          />
        </label>
      </p>
      {files.length === 0 ? undefined : (
        <ul className="chips" aria-label={texts.apply.chosen}>
          {files.map((file, at) => (
            <li key={`${at} ${file.name}`}>
              {file.name} ({texts.apply.size(file.text.length)})
              <button
                type="button"
                aria-label={texts.apply.drop(file.name)}
                onClick={() => {
                  setFiles(files.toSpliced(at, 1));
                  forget();
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="apply-text">
        <YamlEditor
          label={texts.apply.text}
          value={text}
          onChange={(next) => {
            setText(next);
            forget();
          }}
        />
      </div>
      <div className="buttons apply-buttons">
        <ActionButton
          kind={objects === undefined ? 'primary' : 'plain'}
          onAction={() => void check()}
          isDisabled={isBusy}
        >
          {texts.apply.check}
        </ActionButton>
        {objects === undefined || left === 0 ? undefined : (
          <ActionButton kind="primary" onAction={() => void applyAll()} isDisabled={isBusy}>
            {texts.apply.apply(left)}
          </ActionButton>
        )}
        <label className="check">
          <input
            type="checkbox"
            checked={force}
            onChange={(event) => {
              setForce(event.target.checked);
              forget();
            }}
          />
          {texts.apply.force}
        </label>
      </div>
      {progress === undefined ? undefined : <ProgressNote progress={progress} onStop={() => end.current.abort()} />}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {objects === undefined ? undefined : <AppliedList objects={objects} />}
    </div>
  );
}

function ProgressNote({ progress, onStop }: { progress: Progress; onStop: () => void }) {
  const { state, done, all } = progress;
  return (
    <div className="apply-progress">
      {state === 'stopped' ? undefined : <progress aria-label={texts.apply[state]} max={all} value={done} />}
      <span role="status">{state === 'stopped' ? texts.apply.stopped(done, all) : texts.bulk.progress(done, all)}</span>
      {state === 'stopped' ? undefined : (
        <button type="button" className="button danger" onClick={onStop}>
          {texts.bulk.stop}
        </button>
      )}
    </div>
  );
}
