const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** asctime(3), as the table, `-q` and the XML print it. */
const ASCTIME = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) {1,2}(\d{1,2}) (\d{2}:\d{2}:\d{2}) (\d{4})$/;
/** The `timestamp` of a query. */
const QUERY = /^(\d{4})\/(\d{2})\/(\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)$/;

/**
 * The moment that nvidia-smi prints, in ISO 8601 and in the machine's own time: no output names the zone, so none is
 * added here. `undefined` if the text is no such moment.
 */
export function findStamp(text: string): string | undefined {
  const words = text.trim();
  const [, month, day, time, year] = ASCTIME.exec(words) ?? [];
  if (month !== undefined && day !== undefined) {
    const at = MONTHS.indexOf(month) + 1;
    return at === 0 ? undefined : checked(`${year}-${twoDigits(at)}-${day.padStart(2, "0")}T${time}`);
  }
  const [, queryYear, queryMonth, queryDay, queryTime] = QUERY.exec(words) ?? [];
  return queryYear === undefined ? undefined : checked(`${queryYear}-${queryMonth}-${queryDay}T${queryTime}`);
}

function checked(stamp: string): string | undefined {
  return Number.isNaN(Date.parse(`${stamp}Z`)) ? undefined : stamp;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
