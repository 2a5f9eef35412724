import type { AnyObject, Stored } from '@svc/client';
import { useCallback } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { useTitle } from '../interface/use-title.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { listLink, objectLink } from '../shell/links.ts';
import { UnservedNote } from '../shell/unserved-note.tsx';
import { useModelOfPath } from '../shell/use-model-of-path.ts';
import { texts } from '../texts/texts.ts';
import { EditorTabs, editorView } from './editor-tabs.tsx';
import { NewObjectForm } from './new-object-form.tsx';

export default function NewPage({ group, plural }: { group: string; plural: string }) {
  const { model, isServed } = useModelOfPath(group, plural);
  return (
    <>
      {isServed ? undefined : <UnservedNote group={group} plural={plural} />}
      {model === undefined ? undefined : <NewObject model={model} />}
    </>
  );
}

function NewObject({ model }: { model: ModelInfo }) {
  useTitle(texts.editor.newTitle(model.kind));
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const view = editorView(params.get('tab')) ?? 'both';
  const namespace = params.get('ns') ?? '';
  const onCreated = useCallback(
    ({ metadata }: Stored<AnyObject>) => navigate(objectLink(model, metadata)),
    [model, navigate],
  );
  return (
    <div className="edit-panel">
      <p className="path">
        <Link href={listLink(model, namespace)}>{model.kind}</Link>
      </p>
      <h1>{texts.editor.newTitle(model.kind)}</h1>
      <nav className="tabs" aria-label={texts.object.tabs}>
        <EditorTabs view={view} />
      </nav>
      <NewObjectForm model={model} namespace={namespace} view={view} onCreated={onCreated} hasShortcut />
    </div>
  );
}
