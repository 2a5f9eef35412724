import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { EditorState, type Extension, Transaction } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { searchKeys } from './search-keys.ts';

/** The nonce that the page's policy allows styles with. */
const nonce = document.querySelector<HTMLElement>('meta[property=csp-nonce]')?.nonce ?? '';

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--warning)' },
  { tag: tags.comment, color: 'var(--muted)' },
]);

/** What an editor and the two sides of a difference have in common. */
export const commonExtensions: Extension = [
  EditorView.cspNonce.of(nonce),
  lineNumbers(),
  foldGutter(),
  yaml(),
  syntaxHighlighting(colors),
  EditorView.lineWrapping,
  EditorState.tabSize.of(2),
];

/**
 * For a text that replaces another one the browser would copy the look of what it replaces into a style attribute, which
 * the page's policy forbids.
 */
const replaceWithoutStyle = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== 'insertText' || event.data === null || event.isComposing) return false;
    if (view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

export interface YamlEditorProps {
  label: string;
  /** A new value replaces the text; what is typed comes by `onChange`. */
  value: string;
  onChange: (value: string) => void;
}

/** Tab leaves the editor, as everywhere: only the keys of CodeMirror that people expect of a text field are bound. */
export function YamlEditor({ label, value, onChange }: YamlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const changed = useRef(onChange);
  useEffect(() => {
    changed.current = onChange;
  });
  useEffect(() => {
    const editor = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: '',
        extensions: [
          commonExtensions,
          history(),
          replaceWithoutStyle,
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          searchKeys(),
          keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap]),
          // Where it scrolls, tools know by this that keys reach it.
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            const isGiven = update.transactions.some((transaction) => transaction.annotation(Transaction.remote));
            if (update.docChanged && !isGiven) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label]);
  useEffect(() => {
    const editor = view.current!;
    const current = editor.state.doc.toString();
    if (current === value) return;
    editor.dispatch({
      changes: { from: 0, to: current.length, insert: value },
      // Nobody typed it, so nobody takes it back.
      annotations: [Transaction.remote.of(true), Transaction.addToHistory.of(false)],
    });
  }, [value, label]);
  return <div ref={place} className="editor" />;
}
