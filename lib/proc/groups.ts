import { type Uid, uid } from "../core/ids.ts";

/**
 * Who is in which group, by the texts of group(5) and passwd(5): those whom the group lists, and those whose own group it
 * is. Lines of another form are passed over.
 */
export function parseGroups(
  { group, passwd }: { readonly group: string; readonly passwd: string },
): ReadonlyMap<string, ReadonlySet<Uid>> {
  const users = passwd.split("\n").flatMap((line) => {
    const [, name, id, own] = /^([^:+-][^:]*):[^:]*:(\d{1,10}):(\d{1,10}):/.exec(line) ?? [];
    return name === undefined || Number(id) > 0xffff_ffff ? [] : [{ name, uid: uid(Number(id)), own }];
  });
  const groups = new Map<string, Set<Uid>>();
  for (const line of group.split("\n")) {
    const [, name, id, list = ""] = /^([^:+-][^:]*):[^:]*:(\d{1,10}):([^:]*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const listed = new Set(list.split(","));
    const members = groups.get(name) ?? new Set();
    groups.set(name, members);
    for (const user of users) {
      if (user.own === id || listed.has(user.name)) members.add(user.uid);
    }
  }
  return groups;
}
