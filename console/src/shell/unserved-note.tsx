import { texts } from '../texts/texts.ts';

/** For a page whose model the server does not have, or not any more. */
export function UnservedNote({ group, plural }: { group: string; plural: string }) {
  return (
    <p role="alert" className="note warning">
      {texts.list.unknown(`${plural}.${group}`)}
    </p>
  );
}
