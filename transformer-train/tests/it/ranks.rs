//! Several processes that train together by MPI.
//!
//! `cargo test -p transformer-train --features mpi --test it ranks` needs `mpirun`, as Debian's packages
//! `libopenmpi-dev`, `openmpi-bin` and `libclang-dev` have it.

use crate::workplace::Workplace;

#[cfg(not(feature = "mpi"))]
#[test]
fn processes_of_mpi_are_refused_by_a_program_without_it() {
    let workplace = Workplace::new();
    let mut command = workplace.program(&["--task", "copy", "--out", "run"]);
    let output = command.env("OMPI_COMM_WORLD_SIZE", "4").output();
    let ended = crate::workplace::Ended::new(output.expect("cargo has built the program"));
    let failure = ended.failure();
    assert!(
        failure.starts_with("MPI has started 4 processes of this program, which is built without"),
        "{failure}"
    );
    assert!(!workplace.path("run").exists());
}

#[test]
fn ranks_that_nobody_started_are_refused() {
    let workplace = Workplace::new();
    let ended = workplace.train("run", &["--set", "training.ranks=3"]);
    let failure = ended.failure();
    assert!(
        failure.starts_with(
            "`training.ranks` is 3, and 1 process(es) were started; start 3 by `mpirun -n 3`"
        ),
        "{failure}"
    );
    assert!(!workplace.path("run").exists());
}

#[cfg(feature = "mpi")]
mod with_mpi {
    use std::process::Command;

    use super::*;
    use crate::devices::{assert_same_curve, metrics};
    use crate::workplace::{Ended, Running, training};

    /// Lets root start processes, and more of them than there are cores, as containers do. The processes of other
    /// tests share the cores, so none is bound to one.
    const MPIRUN: [&str; 5] = [
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-n",
    ];

    /// Returns the command that trains with `n_ranks` processes.
    fn mpirun(workplace: &Workplace, n_ranks: usize, arguments: &[&str]) -> Command {
        let n_ranks = n_ranks.to_string();
        let program = env!("CARGO_BIN_EXE_transformer-train");
        let arguments = [&MPIRUN[..], &[&n_ranks, program], arguments].concat();
        let mut command = workplace.command("mpirun", &arguments);
        // Open MPI cannot read the memory of its own processes in some containers, and says so.
        command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        command
    }

    /// Trains on the corpus of the workplace with `n_ranks` processes, into the folder `out`.
    fn train_with(workplace: &Workplace, n_ranks: usize, out: &str, more: &[&str]) -> Ended {
        let arguments = [&training(out), more].concat();
        let output = mpirun(workplace, n_ranks, &arguments).output();
        Ended::new(output.expect("mpirun is installed"))
    }

    /// Returns a workplace whose updates have four batches, with a dropout and what else could depend on the number of
    /// processes.
    fn workplace(dropout: f64) -> Workplace {
        let model = format!("n_heads = 2\nactivation = \"silu\"\ndropout = {dropout}");
        let training = "warmup_steps = 15\nclip_norm = 0.5\nema_decay = 0.9";
        Workplace::with(&[("n_heads = 2", &model), ("warmup_steps = 15", training)])
    }

    fn accumulate(n_batches: usize) -> String {
        format!("training.accumulate={n_batches}")
    }

    /// Compares the curves of two and four processes with that of one, which has the same batches and the same dropout.
    fn assert_curve_of_one_process(dropout: f64, more: &[&str]) {
        let workplace = workplace(dropout);
        let batches = accumulate(4);
        let alone = [&["--set", &batches], more].concat();
        workplace.train("alone", &alone).lines();
        let alone = metrics(&workplace, "alone");
        for n_ranks in [2, 4] {
            let out = format!("of-{n_ranks}");
            let batches = accumulate(4 / n_ranks);
            let several = [&["--set", &batches], more].concat();
            let ended = train_with(&workplace, n_ranks, &out, &several);
            assert_eq!(ended.code, Some(0), "{ended:?}");
            // The same sums in another order, in single precision, over 25 updates.
            assert_same_curve(&alone, &metrics(&workplace, &out), 1e-5);
        }
    }

    #[test]
    fn several_processes_give_the_curve_of_one() {
        assert_curve_of_one_process(0.0, &[]);
    }

    /// Each matrix of the feed-forward networks has more elements than one call of MPI sums. The rate is low: at the
    /// peak of the other tests, 0.05, such a wide network multiplies a difference in rounding by 30 in ten updates.
    #[test]
    fn several_processes_sum_large_gradients() {
        let wide = "model.d_ff=70000";
        let rate = "training.peak_learning_rate=1e-3";
        assert_curve_of_one_process(0.0, &["--set", wide, "--set", rate]);
    }

    #[test]
    fn several_processes_draw_the_dropout_of_one() {
        assert_curve_of_one_process(0.2, &[]);
    }

    #[test]
    fn a_run_resumes_with_another_number_of_processes() {
        let workplace = workplace(0.1);
        workplace.train("alone", &["--set", &accumulate(4)]).lines();
        let begun = ["--updates", "10", "--set", &accumulate(2)];
        assert_eq!(train_with(&workplace, 2, "several", &begun).code, Some(0));
        let go_on = ["--updates", "20", "--set", &accumulate(1)];
        assert_eq!(train_with(&workplace, 4, "several", &go_on).code, Some(0));
        let end = ["--set", "training.ranks=1", "--set", &accumulate(4)];
        let ended = workplace.train("several", &end);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let (alone, several) = (metrics(&workplace, "alone"), metrics(&workplace, "several"));
        assert_same_curve(&alone, &several, 1e-5);
        assert!(workplace.translates("several/model"));
    }

    #[test]
    fn another_number_of_batches_is_refused_with_what_would_be_right() {
        let workplace = workplace(0.0);
        workplace
            .train("run", &["--updates", "10", "--set", &accumulate(4)])
            .lines();
        let ended = train_with(&workplace, 2, "run", &["--set", &accumulate(4)]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let remedy =
            "`training.ranks` times `training.devices` times `training.accumulate` stays 4";
        assert!(ended.stderr.contains(remedy), "{ended:?}");
    }

    #[test]
    fn a_process_that_is_killed_ends_the_others_and_the_run_resumes() {
        let workplace = workplace(0.0);
        let arguments = [&training("run")[..], &["--updates", "100000"]].concat();
        let mut running = Running::new(mpirun(&workplace, 3, &arguments));
        running.wait_for_intervals(2);
        kill_last_child(running.id());
        // This returns because no process waits for the killed one.
        let ended = running.wait();
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let settings = ["--updates", "100", "--set", "training.ranks=1"];
        let resumed = workplace.train("run", &[&settings[..], &["--set", &accumulate(3)]].concat());
        // It had more updates than that, or goes on.
        assert!(
            resumed.code == Some(0) || resumed.stderr.contains("has done"),
            "{resumed:?}"
        );
        assert!(workplace.translates("run/model"));
    }

    /// Kills the process of the highest rank.
    fn kill_last_child(mpirun: u32) {
        let kill = format!("kill -KILL $(pgrep -P {mpirun} transformer | tail -n 1)");
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("there is a shell").success());
    }

    #[test]
    fn a_signal_ends_all_processes_after_the_interval() {
        let workplace = workplace(0.0);
        let arguments = [&training("run")[..], &["--updates", "100000"]].concat();
        let mut running = Running::new(mpirun(&workplace, 2, &arguments));
        running.wait_for_intervals(1);
        let signal = format!("kill -USR1 {}", running.id());
        let sent = Command::new("sh").args(["-c", &signal]).status();
        assert!(sent.expect("there is a shell").success());
        let ended = running.wait();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(
            ended.stderr.contains("stopping after this interval"),
            "{ended:?}"
        );
        assert!(workplace.translates("run/model"));
    }

    #[test]
    fn patience_ends_all_processes() {
        let workplace = workplace(0.0);
        let settings = [
            "--updates",
            "5000",
            "--set",
            "training.patience=1",
            "--set",
            "training.peak_learning_rate=1.0",
            "--set",
            "training.clip_norm=0.01",
        ];
        let ended = train_with(&workplace, 2, "run", &settings);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.stdout.contains("stopped     after update"),
            "{ended:?}"
        );
    }

    #[test]
    fn an_error_of_a_process_ends_all_of_them() {
        let workplace = workplace(0.0);
        workplace.write("a.src", "only one line\n");
        let ended = train_with(&workplace, 3, "run", &[]);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        // All find the same; MPI may stop the slower ones before they say it.
        let is_whole_error =
            |line: &str| line.starts_with("error: rank ") && line.ends_with("of the other");
        let mut lines = ended.stderr.lines();
        assert!(lines.clone().any(is_whole_error), "{ended:?}");
        assert!(
            lines.all(|line| line.matches("error: ").count() <= 1),
            "lines of several processes in one: {ended:?}"
        );
    }
}
