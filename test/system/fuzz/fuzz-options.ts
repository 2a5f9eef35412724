import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { services, type Service } from './services.ts';

export interface FuzzOptions {
  seed: string;
  /** Runs only this case. */
  number?: number;
  seconds: number;
  /** Number of requests, instead of a time. */
  requests?: number;
  concurrency: number;
  /** Run one after the other, each with its own server. */
  services: readonly Service[];
  areas: readonly string[];
  dataParent: string;
  summaryFile: string | undefined;
}

export const usage = `Usage: make fuzz ARGS='...'
  --seed=TEXT          decides every request; default a new one, printed first
  --service=NAME       ${services.map(({ name }) => name).join(' or ')}; default both
  --case=N             only the case of this number, of one service, shown with its answers
  --seconds=120        how long, for both together
  --requests=N         how many, instead
  --concurrency=32     requests side by side
  --areas=a,b          ${services.map(({ areas }) => areas.join(', ')).join(',\n                       ')}
  --data=FOLDER        where the database lies (default: the temporary folder)
  --summary=FILE       writes {"passed", "failed"}: areas without and with violations
`;

/** Throws an Error that describes the problem. */
export function parseFuzzOptions(args: string[]): FuzzOptions {
  const { values } = parseArgs({
    args,
    options: {
      seed: text,
      service: text,
      case: text,
      seconds: text,
      requests: text,
      concurrency: text,
      areas: text,
      data: text,
      summary: text,
    },
  });
  const areas =
    values.areas === undefined ? services.flatMap((service) => service.areas) : values.areas.split(',').map(areaOf);
  const chosen = services.filter(
    (service) =>
      (values.service === undefined || service.name === values.service) &&
      service.areas.some((area) => areas.includes(area)),
  );
  if (chosen.length === 0) throw new Error('there is no such service, or it has none of these areas');
  if (values.case !== undefined && chosen.length > 1)
    throw new Error('--case needs --service: each service numbers its own cases');
  return {
    services: chosen,
    seed: values.seed ?? randomBytes(6).toString('hex'),
    seconds: wholeNumber('seconds', values.seconds ?? '120'),
    concurrency: wholeNumber('concurrency', values.concurrency ?? '32'),
    areas,
    dataParent: values.data ?? defaultDataParent,
    ...(values.case === undefined ? {} : { number: wholeNumber('case', values.case) }),
    ...(values.requests === undefined ? {} : { requests: wholeNumber('requests', values.requests) }),
    summaryFile: values.summary,
  };
}

function areaOf(name: string): string {
  const area = name.trim();
  if (!services.some(({ areas }) => areas.includes(area))) throw new Error(`there is no area ${name}`);
  return area;
}
