import { isStatusError } from '@svc/client';
import { useEffect, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useTitle } from '../interface/use-title.ts';
import { models } from '../server/discovery.ts';
import { modelName, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { readTable } from '../server/read-table.ts';
import { listLink, rankOf } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { OverviewParts } from './overview-parts.tsx';
import { Attention } from './attention.tsx';

interface Count {
  total: number;
  isLowerBound: boolean;
}

const concurrent = 4;
const refreshMs = 30_000;

/** What somebody should look at, and all models with the number of their objects. */
export function OverviewPage() {
  useTitle(texts.overview.title);
  const known = useObservable(models);
  const all = useMemo(() => known?.toSorted((a, b) => rankOf(a) - rankOf(b)), [known]);
  const counts = useCounts(all);
  return (
    <>
      <h1>{texts.overview.title}</h1>
      <Attention />
      <OverviewParts />
      <h2>{texts.overview.models}</h2>
      <p>{texts.overview.intro}</p>
      {all?.every((model) => rankOf(model) > 0) === true ? (
        <p className="note">
          {texts.overview.noOwnModels} <Link href="/apply">{texts.navigation.apply}</Link>
        </p>
      ) : undefined}
      <div className="table-box" role="group" aria-label={texts.overview.models} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.overview.model}</th>
              <th scope="col">{texts.overview.group}</th>
              <th scope="col" className="number">
                {texts.overview.objects}
              </th>
            </tr>
          </thead>
          <tbody>
            {all?.map((model) => (
              <tr key={modelName(model)}>
                <th scope="row">
                  <Link href={listLink(model)}>{model.kind}</Link>
                </th>
                <td>{model.group === '' ? texts.navigation.core : model.group}</td>
                <td className="number">{countText(counts.get(modelName(model)))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function countText(count: Count | 'forbidden' | undefined): string {
  if (count === undefined) return '';
  if (count === 'forbidden') return texts.overview.forbidden;
  return count.isLowerBound ? texts.overview.atLeast(count.total) : texts.number(count.total);
}

function useCounts(all: readonly ModelInfo[] | undefined): ReadonlyMap<string, Count | 'forbidden'> {
  const [counts, setCounts] = useState<ReadonlyMap<string, Count | 'forbidden'>>(new Map());
  const [round, setRound] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setRound((before) => before + 1);
    }, refreshMs);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    const end = new AbortController();
    const waiting = (all ?? []).values();
    const work = async (): Promise<void> => {
      for (const model of waiting) {
        const count = await countOf(model, end.signal);
        if (end.signal.aborted) return;
        if (count !== undefined) setCounts((known) => new Map(known).set(modelName(model), count));
      }
    };
    for (let worker = 0; worker < concurrent; worker += 1) void work();
    return () => end.abort();
  }, [all, round]);
  return counts;
}

/** Undefined if the server could not tell now. */
async function countOf(model: ModelInfo, signal: AbortSignal): Promise<Count | 'forbidden' | undefined> {
  try {
    const { total = 0, totalIsLowerBound = false } = await readTable(resourceOf(model), { page: 1, size: 1, signal });
    return { total, isLowerBound: totalIsLowerBound };
  } catch (error) {
    return isStatusError(error, 'Forbidden') ? 'forbidden' : undefined;
  }
}
