import { texts } from '../texts/texts.ts';

/** For a page whose object was deleted. */
export function GoneNote() {
  return (
    <p role="alert" className="note warning">
      {texts.object.gone}
    </p>
  );
}
