import type { AnyObject, Stored } from '@svc/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { NewObjectForm } from '../object/new-object-form.tsx';
import type { ModelInfo } from '../server/model-info.ts';
import { objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';

/** For one new object after the other. */
export function ContentForm({ model, namespace = '' }: { model: ModelInfo; namespace: string | undefined }) {
  const [created, setCreated] = useState<Stored<AnyObject> | undefined>(undefined);
  const note = useRef<HTMLParagraphElement>(null);
  const onCreated = useCallback((object: Stored<AnyObject>) => setCreated(object), []);
  // The button that had the focus belongs to the form before.
  useEffect(() => note.current?.focus(), [created]);
  return (
    <div className="edit-panel">
      {created === undefined ? undefined : (
        <p ref={note} role="status" tabIndex={-1} className="note good">
          {texts.content.created} <Link href={objectLink(model, created.metadata)}>{created.metadata.name}</Link>
        </p>
      )}
      <NewObjectForm
        key={created?.metadata.uid}
        model={model}
        namespace={namespace}
        view="form"
        onCreated={onCreated}
      />
    </div>
  );
}
