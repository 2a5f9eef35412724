import { createElement as h, StrictMode, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';
import { connect } from '../../../pkg/webclient/index.ts';
import { useCan, useEdit, useLive, useObject } from '../../../pkg/webclient/react/index.ts';

/** What the test shows. */
export interface View {
  /** So many lists of the objects whose names have the prefix. */
  lists?: { prefix: string; copies: number };
  /** An editor of this object. */
  editor?: string;
  /** May the user do this? */
  verbs?: string[];
}

export interface TestPage {
  show(view: View): void;
  begin(token: string): void;
}

interface Post {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: { title: string | number; owner?: string };
}

const Post = {
  group: 'react.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: false,
  hasStatusSubresource: false,
} as const;

let posts = connect().resource<Post>(Post);

function List({ prefix, id }: { prefix: string; id: number }): ReactElement {
  const { items, state } = useLive(posts, { where: { 'metadata.name': { prefix } } });
  return h(
    'section',
    { id: `list${id}`, 'data-state': state.name, 'data-code': state.name === 'stale' ? state.failure?.code : '' },
    items.map(({ metadata, spec }) => `${metadata.name}=${spec.title}`).join(' '),
  );
}

function Editor({ name }: { name: string }): ReactElement {
  const { object, state } = useObject(posts, name);
  const { draft, isChanged, isSaving, conflicts, failure, fieldErrors, change, resolve, save, reset } = useEdit(
    posts,
    object,
  );
  const button = (id: string, onClick: () => void): ReactElement => h('button', { id, key: id, onClick }, id);
  return h(
    'form',
    { 'data-state': state.name, onSubmit: (event) => event.preventDefault() },
    h('input', {
      id: 'title',
      value: String(draft?.spec.title ?? ''),
      onChange: ({ target }: { target: unknown }) =>
        change(({ spec }) => (spec.title = (target as { value: string }).value)),
    }),
    h('output', { id: 'owner' }, draft?.spec.owner ?? ''),
    h('output', { id: 'stored' }, object === undefined ? 'nothing' : String(object.spec.title)),
    h('output', { id: 'conflicts' }, conflicts.map(({ path, theirs }) => `${path}: ${JSON.stringify(theirs)}`).join()),
    h('output', { id: 'failure' }, failure === undefined ? '' : `${failure.code} ${failure.reason}`),
    h('output', { id: 'error' }, fieldErrors.get('spec.title') ?? ''),
    h('output', { id: 'facts' }, `${isChanged ? 'changed' : 'same'}${isSaving ? ', saving' : ''}`),
    button('save', () => void save()),
    button('mine', () => resolve('mine')),
    button('theirs', () => resolve('theirs')),
    button('reset', reset),
    button('break', () => change(({ spec }) => (spec.title = 5))),
  );
}

function Verb({ verb }: { verb: string }): ReactElement {
  const { isAllowed, reason } = useCan(posts, verb);
  return h('output', { id: verb, title: reason }, String(isAllowed));
}

function App({ lists, editor, verbs = [] }: View): ReactElement {
  return h(
    'main',
    {},
    Array.from({ length: lists?.copies ?? 0 }, (_, id) => h(List, { key: `list${id}`, id, prefix: lists!.prefix })),
    editor === undefined ? undefined : h(Editor, { name: editor }),
    verbs.map((verb) => h(Verb, { key: verb, verb })),
  );
}

const { document } = globalThis as unknown as { document: { getElementById(id: string): Element } };
const root = createRoot(document.getElementById('root'));
const page: TestPage = {
  show: (view) => root.render(h(StrictMode, {}, h(App, view))),
  begin: (token) => (posts = connect({ credential: token }).resource<Post>(Post)),
};
Object.assign(globalThis, { page });
