import { openPage } from '@svc/client/page';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './blog.css';
import { element } from './dom/element.js';

const Post = { group: 'blog.example.com', version: 'v1', kind: 'Post', plural: 'posts', namespaced: false };

/** Publishes the posts that were chosen in the console, now or later. */
async function main() {
  const { server, objects, setUnsaved, close } = await openPage();
  const posts = server.resource(Post);
  const time = element('input', { type: 'datetime-local' });
  const publish = element('button', { type: 'button' }, 'Publish');
  const note = element('p', { role: 'status' });
  const failures = element('ul', { role: 'alert' });
  time.addEventListener('input', () => setUnsaved(time.value !== ''));
  let waiting = objects.map(({ name }) => name);
  publish.addEventListener('click', async () => {
    publish.disabled = true;
    failures.replaceChildren();
    const publishAt = time.value === '' ? null : new Date(time.value).toISOString();
    const failed = [];
    for (const [at, name] of waiting.entries()) {
      note.textContent = `${at} of ${waiting.length} published`;
      try {
        await posts.patch(name, { spec: { publish: true, publishAt } });
      } catch (error) {
        failed.push(name);
        failures.append(element('li', {}, `${name}: ${error.message}`));
      }
    }
    waiting = failed;
    note.textContent = '';
    publish.disabled = false;
    if (failed.length === 0) close();
  });
  const names = objects.map(({ name }) => element('li', {}, name));
  document
    .querySelector('#root')
    .append(element('ul', {}, ...names), element('label', {}, 'Not before ', time), ' ', publish, note, failures);
}

void main();
