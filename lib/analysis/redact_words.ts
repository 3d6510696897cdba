/**
 * The words of this program's own sentences. In a redacted document every other word of a sentence is replaced, so one
 * that is missing here costs clearness and never a secret.
 */
export const WORDS: ReadonlySet<string> = new Set(
  `a about absolute access accounting act action active add adds address affected after again ahead alive all allocate
  alone already an and another answer answered answers any anything apart are argument array as ask asked at attached
  available back be been before belong belongs beside blocked blocks board brings brought bug built bus but by bytes cables
  call called calls can cannot cgroup change changed characters children clean client clients close closed column columns
  comes complete compute confirm container containers contains context contexts continue continued controllers copy correct
  corrupt corrupted cost costs could count counted counts csv cuda cudamallocmanaged current cut d daemon data dead deadline debugger
  debugs deeply defines defunct denied deprecated descends descriptor descriptors desktop device devices did different
  directory display dkms dmon do doctype does done driven driver drivers each ecc echo either elements else empty end ended
  ending ends entities errno error errors every everybody everything exclusive executable exited expected explains external
  failed failure fallen false faults fb fcntl ffi field fields file filtered find first folder follows for fork forked forks
  found free frequency from full function functionality fuser gave ghost give given gives go goes gone gpu gpus graphics
  group halted has have header held helper here hidden hides hold holds host how hung id idle if ignores imported in
  indentation index inforom inherit inherited inherits init initialized input inside install instance insufficient into
  interpreter interrupt invalid ipc ipykernel_launcher is issue it its itself job jobs judge jupyter kcmp keep keeps kernel key
  keys kill kind kmd know known knows lacks larger last later launcher leader leave leaves left library like line lines linux
  list listed lists live lives load loaded loader location lock locked log longer look looked looks lost lsof machine machines
  main make makes managed map mapped mapping mappings matches may memory messages mib gib mig minor minute mismatch mistake
  mode model modprobe module modules moment monitor more most mounted much multiprocessing must name named names namespace
  namespaces near needed needs neither never no nobody node nohup none nor not nothing now number numbered numbers nvidia nvml
  nvmldevicegetfieldvalues nvmldevicegetmemoryinfo nvrm object of off older on once one ones only open opened operating
  operation option or order other others out output outputs outside overwritten own owner package panel parent parentheses
  parse part past path peaks perform permission permissions pid pipe place places pmon power print printed private problem
  process processes profile program programs ps purpose put pytorch queries query question quit rank reached reaches read
  reads ready reap reboot recommended record recorded recovery reload removed renderer report reported request requested
  required requires reserve reset resource resources rminitadapter room root row rows run running runs runtime s safely same
  sandbox saved say says scene seconds see seen sees server session set sets setsid several shared shares shortened show
  shows sighup sigkill sigterm signal sim simulate simulated since size slurm slurmstepd snapshot snapshots some somebody
  spawn_main standard start started starter starts state status stay stays still stop stopped stuck such supervised supervises
  supported suspended system systemctl t table take taken takes taking tell terminal text than that the their them
  themselves there they this thread threads time timed tmux to told too track true twice type umd undefined under unit
  unknown unreadable until up update updated use used user users uses using usual uuid value values version versions vgpu
  view virtual visible wait waiting waits was watches way wddm were what when where whether which while who whoever whose
  window windows with within without words work worker workers would wrong wrote wsl xid z zombie zombies zone n/a
  vllm sglang api torchrun agent deepspeed mpi pmix horovod open raylet its their pbs lsf flux cobalt oar shell
  torchelastic_run_id local_rank cross_rank ompi_comm_world_rank pmix_rank pmi_rank horovod_rank cuda_visible_devices
  python incomplete even docker containerd podman lxc nspawn
  because communicate couldn default differ disabled enabled files initialize installed latest moments nodes noheader smi sure
  cont argv contextbytes starttime eacces eperm enoent esrch eio enodev etimedout einval eof
  `.split(/\s+/).filter((word) => word !== ""),
);
