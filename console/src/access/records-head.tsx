import { ActionButton } from '../interface/action-button.tsx';
import type { ShownRequest } from '../snippet/shown-request.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import type { RecordPage } from './access-api.ts';

interface RecordsHeadProps {
  words: { title: string; count: (count: number) => string; create: string };
  /** Undefined while it is read. */
  page: RecordPage<unknown> | undefined;
  onCreate: () => void;
  missingRule: string | undefined;
  request: ShownRequest;
}

/** The head of a page of records: how many there are, and a button for a new one. */
export function RecordsHead({ words, page, onCreate, missingRule, request }: RecordsHeadProps) {
  return (
    <div className="page-head">
      <h1>{words.title}</h1>
      <p role="status" className="facts">
        {page === undefined ? '' : words.count(page.count)}
      </p>
      <SnippetAction request={request} />
      <ActionButton kind="primary" onAction={onCreate} missingRule={missingRule}>
        {words.create}
      </ActionButton>
    </div>
  );
}
