import { pageProtocol, servePage, type FrameObject, type PageFault, type ServedPage } from '@svc/client/page';
import { useEffect, useRef, useState } from 'react';
import { ConfirmDialog } from '../interface/confirm-dialog.tsx';
import { pressKeys } from '../interface/shortcuts.ts';
import { texts } from '../texts/texts.ts';
import { usePageLook } from './page-look.ts';
import { fetchForPage } from './plugin-pages.ts';

export type FrameFault = PageFault | 'moved';

export interface PluginFrameProps {
  page: { name: string; title: string };
  /** Of its file. Another one is another frame: give the component a key. */
  url: string;
  object: FrameObject | undefined;
  objects: readonly FrameObject[] | undefined;
  place: string;
  onPlace: (place: string) => void;
  onUnsaved: (isUnsaved: boolean) => void;
  onClose: (() => void) | undefined;
  onFault: (fault: FrameFault) => void;
}

const heightPixels = { min: 120, max: 20_000 };

interface Deletion {
  path: string;
  answer: (may: boolean) => void;
}

/**
 * A page of a plugin. It has no origin, and all that it reaches is the port; requests go to the server with its name.
 * Whoever changes what is in the frame gets no port: it is given away once, and closed when the frame loads again.
 */
export function PluginFrame(props: PluginFrameProps) {
  const { page, url, object, objects, place, onPlace, onUnsaved, onClose, onFault } = props;
  const frame = useRef<HTMLIFrameElement>(null);
  const served = useRef<ServedPage | undefined>(undefined);
  const isLoaded = useRef(false);
  const [height, setHeight] = useState<number | undefined>(undefined);
  const [deletion, setDeletion] = useState<Deletion | undefined>(undefined);
  const look = usePageLook();
  const shownLook = JSON.stringify(look);

  useEffect(() => () => served.current?.close(), []);
  useEffect(() => served.current?.show(JSON.parse(shownLook) as typeof look), [shownLook]);
  useEffect(() => served.current?.goTo(place), [place]);

  const load = (): void => {
    const window = frame.current?.contentWindow;
    if (isLoaded.current || window === undefined || window === null) {
      served.current?.close();
      return onFault('moved');
    }
    isLoaded.current = true;
    const send = fetchForPage(page.name);
    const { port1, port2 } = new MessageChannel();
    served.current = servePage({
      port: port1,
      send: ({ path, method, headers, body }, signal) =>
        send(path, { method, headers, signal, ...(body === undefined ? {} : { body }) }),
      mayDelete: (path) => new Promise((answer) => setDeletion({ path, answer })),
      onHeight: (pixels) => setHeight(Math.min(heightPixels.max, Math.max(heightPixels.min, Math.ceil(pixels)))),
      onPlace,
      onUnsaved,
      // A page may say so at any time: it counts only while the focus is there.
      onPalette: () => {
        if (document.activeElement === frame.current) pressKeys('Control+k');
      },
      ...(onClose === undefined ? {} : { onClose }),
      onFault,
    });
    const shown = {
      look,
      place,
      ...(object === undefined ? {} : { object }),
      ...(objects === undefined ? {} : { objects }),
    };
    // No origin can be named: it has none.
    window.postMessage({ type: pageProtocol, ...shown }, '*', [port2]);
  };
  const answer = (may: boolean): void => {
    deletion?.answer(may);
    setDeletion(undefined);
  };

  return (
    <>
      <iframe
        ref={frame}
        className="plugin-frame"
        title={page.title}
        src={url}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        style={height === undefined ? {} : { height }}
        onLoad={load}
      />
      {deletion === undefined ? undefined : (
        <ConfirmDialog
          question={{
            title: texts.frame.deleteTitle(page.title),
            text: texts.frame.deleteText(deletion.path),
            action: texts.frame.delete,
            act: async () => answer(true),
          }}
          onClose={() => answer(false)}
        />
      )}
    </>
  );
}
