import { live } from '@svc/client';
import { openPage } from '@svc/client/page';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './blog.css';
import { element } from './dom/element.js';

const Comment = { group: 'blog.example.com', version: 'v1', kind: 'Comment', plural: 'comments', namespaced: false };

/** The comments that wait, as they come and go; each may be approved or deleted. */
async function main() {
  const { server } = await openPage();
  const comments = server.resource(Comment);
  const root = document.querySelector('#root');
  const failure = element('p', { role: 'alert' });
  const note = element('p', { role: 'status' });
  const rows = element('ul', {});
  root.append(note, rows, failure);
  const attempt = (work) => async () => {
    failure.textContent = '';
    try {
      await work();
    } catch (error) {
      failure.textContent = error.message;
    }
  };
  const row = ({ metadata: { name }, spec: { author, content, post } }) => {
    const approve = element('button', { type: 'button' }, 'Approve');
    const remove = element('button', { type: 'button' }, 'Delete');
    approve.addEventListener(
      'click',
      attempt(() => comments.patch(name, { spec: { approved: true } })),
    );
    remove.addEventListener(
      'click',
      attempt(() => comments.remove(name)),
    );
    return element(
      'li',
      {},
      element('p', {}, content),
      element('small', {}, `${author}, on ${post} `),
      approve,
      ' ',
      remove,
    );
  };
  const waiting = live(comments);
  waiting.subscribe(() => {
    const items = waiting.current.filter(({ spec }) => spec.approved !== true);
    note.textContent = items.length === 0 ? 'No comment waits.' : '';
    rows.replaceChildren(...items.map(row));
  });
}

void main();
