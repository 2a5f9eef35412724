import { texts } from '../texts/texts.ts';
import type { PluginPage, PluginRequest } from './plugin-pages.ts';
import { requestText, type RequestTarget } from './plugin-request.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './frame.css';

interface RequestWordsProps {
  page: Pick<PluginPage, 'plugin'>;
  request: PluginRequest;
  target: RequestTarget | undefined;
}

/** What a plugin asks before it sends something. Its words are marked as its own; the request is what is really sent. */
export function RequestWords({ page: { plugin }, request, target }: RequestWordsProps) {
  return (
    <>
      {request.confirm === undefined ? undefined : (
        <figure className="plugin-words">
          <figcaption className="facts">{texts.frame.says(plugin)}</figcaption>
          <blockquote>{request.confirm}</blockquote>
        </figure>
      )}
      <p className="facts">{texts.frame.sends}</p>
      <pre className="plugin-request" tabIndex={0}>
        {requestText(request, target)}
      </pre>
    </>
  );
}
