import { useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { texts } from '../texts/texts.ts';

interface LazyPart<Props> {
  (props: Props): ReactNode;
  /** Loads the code before it is shown. @throws what the import throws */
  preload(): Promise<void>;
}

/**
 * A component whose code loads when it is first shown. The `lazy` of React holds what is loaded back until 0.3 s after
 * its note began; this one shows it at once. A part that cannot be loaded throws, for the boundary around it.
 *
 * @param loading shown meanwhile. Default: a note, once it takes longer.
 */
export function lazy<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  loading: ReactNode = <LoadingNote />,
): LazyPart<Props> {
  let loaded: ComponentType<Props> | undefined;
  const preload = async (): Promise<void> => {
    loaded ??= (await load()).default;
  };
  const Part = (props: Props): ReactNode => {
    const [result, setResult] = useState<{ failure?: unknown }>({});
    const Loaded = loaded;
    useEffect(() => {
      if (Loaded === undefined)
        preload().then(
          () => setResult({}),
          (failure: unknown) => setResult({ failure }),
        );
    }, [Loaded]);
    if ('failure' in result) throw result.failure;
    return Loaded === undefined ? loading : <Loaded {...props} />;
  };
  return Object.assign(Part, { preload });
}

function LoadingNote() {
  return (
    <p role="status" className="loading-note">
      {texts.loading}
    </p>
  );
}
