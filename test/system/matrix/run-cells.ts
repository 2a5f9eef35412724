import { faultOf, type Fault } from './model/verdict.ts';
import type { Cell } from './cells/cell.ts';
import type { MatrixReport } from './report.ts';
import type { MatrixAnswer, MatrixClient } from './wire/matrix-client.ts';
import type { DisposableRecords } from './fixtures/disposable-records.ts';

export interface CellRun {
  readonly client: MatrixClient;
  readonly throwaways: DisposableRecords;
  readonly report: MatrixReport;
  readonly concurrency: number;
}

/** Sends cells concurrently and reports wrong responses. Rejects if a server does not respond. */
export async function runCells(
  cells: Iterator<Cell>,
  { client, throwaways, report, concurrency }: CellRun,
): Promise<void> {
  const work = async (): Promise<void> => {
    for (let next = cells.next(); next.done !== true; next = cells.next()) {
      const cell = next.value;
      const made = cell.makes === undefined ? undefined : await throwaways.make(cell.makes);
      const request = cell.request(client.origins, made?.id);
      const answer = await client.send(request, cell.isStream);
      await made?.remove();
      const fault = faultIn(cell, answer);
      if (fault === undefined) report.passed += 1;
      else report.difference(fault, { cell, request, answer });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

function faultIn({ verdict, reviews }: Cell, answer: MatrixAnswer): Fault | undefined {
  const body = verdict.code === undefined && reviews === undefined ? undefined : bodyOf(answer);
  const fault = faultOf(verdict, { status: answer.status, code: body?.code });
  if (fault !== undefined || reviews === undefined) return fault;
  return body?.status?.allowed === reviews ? undefined : 'wrong review';
}

function bodyOf({ text }: MatrixAnswer): { code?: string; status?: { allowed?: boolean } } | undefined {
  try {
    return JSON.parse(text) as ReturnType<typeof bodyOf>;
  } catch {
    return undefined;
  }
}
