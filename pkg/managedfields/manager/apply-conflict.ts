import { StatusError, type StatusCause } from '#pkg/apimachinery/index';

/** 409: other managers own fields that an applied configuration would change. `details.causes` has one for each field. */
export class ApplyConflict extends StatusError {
  constructor(message: string, causes: StatusCause[]) {
    super(409, 'Conflict', message, { details: { causes } });
    this.name = 'ApplyConflict';
  }
}
