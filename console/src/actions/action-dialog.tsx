import { useEffect, useRef, useState } from 'react';
import { ObjectNames } from '../bulk/bulk-report.tsx';
import { BulkRunDialog } from '../bulk/bulk-run-dialog.tsx';
import { useBulkRun } from '../bulk/use-bulk-run.ts';
import { FramePage } from '../frame/frame-page.tsx';
import type { PluginPage, PluginRequest } from '../frame/plugin-pages.ts';
import { sendRequest } from '../frame/plugin-request.ts';
import { RequestWords } from '../frame/request-words.tsx';
import { frameObjectOf, type TargetObject } from '../frame/target-object.ts';
import { usePluginPage } from '../frame/use-plugin-page.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { mayLose } from '../interface/unsaved.ts';
import { useWarnings } from '../interface/use-warnings.ts';
import { WarningNotes } from '../interface/warning-notes.tsx';
import type { ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './actions.css';

interface ActionDialogProps {
  /** An action or a command, as it was when it was chosen. */
  page: PluginPage;
  /** Of the objects. */
  model?: ModelInfo;
  /** Empty for a command. */
  rows: readonly RowMeta[];
  onClose: () => void;
}

/** Does what a plugin offers: the console itself sends its request, or a frame of the plugin is told the objects. */
export default function ActionDialog({ page, model, rows, onClose }: ActionDialogProps) {
  // What is acted on is what was shown, whatever is selected meanwhile.
  const [objects] = useState(() => (model === undefined ? [] : rows.map((row) => targetOf(model, row))));
  const { action } = page;
  if (action === undefined) return <FrameDialog page={page} objects={objects} onClose={onClose} />;
  if (objects.length < 2) return <OneRequest page={page} request={action} object={objects[0]} onClose={onClose} />;
  return <ManyRequests page={page} request={action} objects={objects} onClose={onClose} />;
}

/** As it was shown: not another one of the same name. */
type ChosenObject = TargetObject & { uid: string };

function targetOf(model: ModelInfo, { namespace = '', name, uid }: RowMeta): ChosenObject {
  return { model, namespace, name, uid };
}

interface FrameDialogProps {
  page: PluginPage;
  objects: readonly TargetObject[];
  onClose: () => void;
}

/** The frame learns which objects were chosen, and nothing of what is chosen later. */
function FrameDialog({ page: { name, title, plugin, place }, objects, onClose }: FrameDialogProps) {
  const { page, state } = usePluginPage(name, place);
  const [isUnsaved, setUnsaved] = useState(false);
  const leave = (): void => {
    if (!isUnsaved || mayLose()) onClose();
  };
  return (
    <PageDialog title={texts.frame.titleOf(title, plugin)} className="wide action-frame" onClose={leave}>
      {state === 'gone' ? (
        <p role="alert" className="note warning">
          {texts.frame.stopped}
        </p>
      ) : undefined}
      {page === undefined ? undefined : (
        <FramePage page={page} objects={objects.map(frameObjectOf)} onUnsaved={setUnsaved} onClose={onClose} />
      )}
      <div className="buttons">
        <button type="button" className="button plain" onClick={leave}>
          {texts.close}
        </button>
      </div>
    </PageDialog>
  );
}

interface OneRequestProps {
  page: PluginPage;
  request: PluginRequest;
  /** Undefined for a command. */
  object: ChosenObject | undefined;
  onClose: () => void;
}

type OneState = { name: 'asking' | 'sending' } | { name: 'done'; text: string } | { name: 'failed'; failure: unknown };

/** Asks if the plugin has a question, sends, and says what came of it. */
function OneRequest({ page, request, object, onClose }: OneRequestProps) {
  const isAsked = request.confirm !== undefined;
  const [state, setState] = useState<OneState>({ name: isAsked ? 'asking' : 'sending' });
  const isSent = useRef(false);
  const { warnings, noteWarnings } = useWarnings();
  const send = async (): Promise<void> => {
    setState({ name: 'sending' });
    try {
      const message = await noteWarnings((warn) => sendRequest(page.name, request, object, warn));
      setState({ name: 'done', text: message ?? request.done ?? texts.content.done(page.title) });
    } catch (failure) {
      setState({ name: 'failed', failure });
    }
  };
  useEffect(() => {
    // It is sent once, however often React mounts it.
    if (isAsked || isSent.current) return;
    isSent.current = true;
    void send();
  });
  const isOpen = state.name === 'asking' || state.name === 'failed';
  return (
    <PageDialog title={texts.frame.titleOf(page.title, page.plugin)} onClose={onClose}>
      {object === undefined ? undefined : <ObjectNames rows={[object]} />}
      {state.name === 'asking' ? <RequestWords page={page} request={request} target={object} /> : undefined}
      <div role="status">
        {state.name === 'sending' ? <p>{texts.actions.running}</p> : undefined}
        {state.name === 'done' ? <p className="note good">{state.text}</p> : undefined}
      </div>
      {state.name === 'failed' ? <FailureNote failure={state.failure} /> : undefined}
      <WarningNotes warnings={warnings} />
      <div className="buttons">
        {isOpen ? (
          <button type="button" className={`button ${isAsked ? 'danger' : 'primary'}`} onClick={() => void send()}>
            {state.name === 'failed' ? texts.retry : page.title}
          </button>
        ) : undefined}
        <button type="button" className="button plain" onClick={onClose}>
          {isOpen ? texts.cancel : texts.close}
        </button>
      </div>
    </PageDialog>
  );
}

interface ManyRequestsProps {
  page: PluginPage;
  request: PluginRequest;
  objects: readonly ChosenObject[];
  onClose: () => void;
}

/** Shows the objects and the request, sends one after the other, and can be stopped. */
function ManyRequests({ page, request, objects, onClose }: ManyRequestsProps) {
  const { progress, start, stop } = useBulkRun<ChosenObject>();
  const run = (chosen: readonly ChosenObject[]): void =>
    void start(chosen, async (object, warn) => {
      await sendRequest(page.name, request, object, warn);
    });
  const title = texts.frame.titleOf(page.title, page.plugin);
  const kind = request.confirm === undefined ? 'primary' : 'danger';
  if (progress === undefined)
    return (
      <PageDialog title={title} onClose={onClose}>
        <p>{texts.actions.objects(objects.length)}</p>
        <ObjectNames rows={objects} />
        <RequestWords page={page} request={request} target={severalOf(objects)} />
        <div className="buttons">
          <button type="button" className={`button ${kind}`} onClick={() => run(objects)}>
            {page.title}
          </button>
          <button type="button" className="button plain" onClick={onClose}>
            {texts.cancel}
          </button>
        </div>
      </PageDialog>
    );
  const { succeeded, failures } = progress;
  const result = texts.actions.succeeded(succeeded);
  return (
    <BulkRunDialog
      title={title}
      progress={progress}
      result={request.done === undefined || failures.length > 0 ? result : `${result} ${request.done}`}
      failed={texts.actions.failed}
      kind={kind}
      onStop={stop}
      onAgain={run}
      onClose={onClose}
    />
  );
}

function severalOf([first]: readonly TargetObject[]): Pick<TargetObject, 'model' | 'namespace'> | undefined {
  return first === undefined ? undefined : { model: first.model, namespace: '' };
}
