import { MergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { commonExtensions } from './yaml-editor.tsx';

interface DifferenceProps {
  label: string;
  before: string;
  after: string;
}

/** Two texts next to each other, with what differs marked; what is equal is folded. */
export function Difference({ label, before, after }: DifferenceProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const side = (doc: string) => ({
      doc,
      extensions: [
        commonExtensions,
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ 'aria-label': label }),
      ],
    });
    const view = new MergeView({
      a: side(before),
      b: side(after),
      parent: place.current!,
      collapseUnchanged: { margin: 3, minSize: 6 },
    });
    return () => view.destroy();
  }, [label, before, after]);
  return <div ref={place} className="difference" />;
}
