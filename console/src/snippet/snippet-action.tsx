import { lazy, Suspense, useState } from 'react';
import { texts } from '../texts/texts.ts';
import type { ShownRequest } from './shown-request.ts';

const SnippetDialog = lazy(() => import('./snippet-dialog.tsx'));

/** A button that shows how a program gets what the page shows. */
export function SnippetAction({ request }: { request: ShownRequest }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button plain" onClick={() => setOpen(true)}>
        {texts.snippet.open}
      </button>
      {isOpen ? (
        <Suspense>
          <SnippetDialog request={request} onClose={() => setOpen(false)} />
        </Suspense>
      ) : undefined}
    </>
  );
}
