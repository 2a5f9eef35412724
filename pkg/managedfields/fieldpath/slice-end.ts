/** Visits of members between two suspensions: a few milliseconds. */
const visitsOfSlice = 2000;
let visits = 0;

/** Counts a visit of a member; true where sliced work over large sets, lists or maps should yield. */
export function isSliceEnd(): boolean {
  visits += 1;
  if (visits < visitsOfSlice) return false;
  visits = 0;
  return true;
}
