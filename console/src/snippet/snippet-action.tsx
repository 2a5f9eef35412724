import { useState } from 'react';
import { lazy } from '../interface/lazy.tsx';
import { texts } from '../texts/texts.ts';
import type { ShownRequest } from './shown-request.ts';

const SnippetDialog = lazy(() => import('./snippet-dialog.tsx'), null);

/** A button that shows how a program gets what the page shows. */
export function SnippetAction({ request }: { request: ShownRequest | readonly ShownRequest[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button plain" onClick={() => setOpen(true)}>
        {texts.snippet.open}
      </button>
      {isOpen ? <SnippetDialog requests={[request].flat()} onClose={() => setOpen(false)} /> : undefined}
    </>
  );
}
