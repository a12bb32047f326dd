//! The paper's figures 1 and 2, redrawn.

use super::Picture;

/// Draws the whole architecture (Figure 1): encoder left, decoder right, from bottom to top.
pub fn architecture() -> Picture {
    let mut drawing = Picture::new(640.0, 700.0, "The Transformer: encoder left, decoder right");
    let (left, right) = (190.0, 450.0);
    // The encoder: two sub-layers, each with its residual connection.
    drawing.rectangle([left - 115.0, 335.0, 230.0, 200.0], "axis");
    drawing.text(left - 150.0, 440.0, "head", "N ×");
    sublayer(&mut drawing, left, 530.0, "self-attention");
    sublayer(&mut drawing, left, 430.0, "feed-forward");
    // The decoder: three.
    drawing.rectangle([right - 115.0, 235.0, 230.0, 300.0], "axis");
    drawing.text(right + 128.0, 390.0, "head", "× N");
    sublayer(&mut drawing, right, 530.0, "masked self-attention");
    sublayer(&mut drawing, right, 430.0, "attention to the memory");
    sublayer(&mut drawing, right, 330.0, "feed-forward");
    // The memory: keys and values for every decoder layer.
    drawing.arrow(&[
        (left, 340.0),
        (left, 310.0),
        (320.0, 310.0),
        (320.0, 405.0),
        (right - 90.0, 405.0),
    ]);
    drawing.text(205.0, 302.0, "small", "memory");
    for (x, name, below) in
        [(left, "source ids", "a dog runs </s>"), (right, "target ids", "<s> ein Hund läuft")]
    {
        drawing.block(x, 620.0, 180.0, "embedding + position");
        drawing.arrow(&[(x, 590.0), (x, 522.0)]);
        drawing.text(x, 655.0, "middle head", name);
        drawing.text(x, 675.0, "small middle", below);
        drawing.arrow(&[(x, 640.0), (x, 622.0)]);
    }
    drawing.arrow(&[(right, 240.0), (right, 202.0)]);
    drawing.block(right, 200.0, 180.0, "linear: one logit a token");
    drawing.arrow(&[(right, 170.0), (right, 142.0)]);
    drawing.block(right, 140.0, 180.0, "softmax");
    drawing.arrow(&[(right, 110.0), (right, 92.0)]);
    drawing.text(right, 66.0, "middle head", "probabilities of the next token");
    drawing.text(right, 84.0, "small middle", "ein Hund läuft </s>");
    drawing
}

/// Draws a sub-layer of 100 pixels' height: the layer, the sum with its input, and the normalization.
fn sublayer(drawing: &mut Picture, x: f64, bottom: f64, name: &str) {
    drawing.main_block(x, bottom - 10.0, 180.0, name);
    drawing.arrow(&[(x, bottom - 40.0), (x, bottom - 58.0)]);
    drawing.block(x, bottom - 60.0, 180.0, "add and normalize");
    drawing.arrow(&[
        (x, bottom),
        (x + 104.0, bottom),
        (x + 104.0, bottom - 75.0),
        (x + 92.0, bottom - 75.0),
    ]);
    drawing.arrow(&[(x, bottom - 90.0), (x, bottom - 108.0)]);
}

/// Draws scaled dot-product attention (Figure 2, left).
pub fn scaled_dot_products() -> Picture {
    let mut drawing = Picture::new(420.0, 420.0, "Scaled dot-product attention");
    let (q, k, v) = (90.0, 170.0, 320.0);
    for (x, name, shape) in
        [(q, "Q", "[len, d_k]"), (k, "K", "[keys, d_k]"), (v, "V", "[keys, d_v]")]
    {
        drawing.text(x, 385.0, "middle head", name);
        drawing.text(x, 402.0, "small middle", shape);
    }
    let middle = 130.0;
    let steps = [
        (360.0, "dot products: QKᵀ"),
        (305.0, "scale: ÷ √d_k"),
        (250.0, "mask: hidden → −∞"),
        (195.0, "softmax over the keys"),
    ];
    drawing.arrow(&[(q, 372.0), (q, 362.0)]);
    drawing.arrow(&[(k, 372.0), (k, 362.0)]);
    for (bottom, name) in steps {
        drawing.block(middle, bottom, 180.0, name);
    }
    for (bottom, _) in &steps[1..] {
        drawing.arrow(&[(middle, bottom + 25.0), (middle, bottom + 2.0)]);
    }
    drawing.arrow(&[(middle, 165.0), (middle, 132.0)]);
    drawing.arrow(&[(v, 372.0), (v, 132.0)]);
    drawing.text(middle + 8.0, 155.0, "small", "weights, [len, keys]");
    drawing.main_block(225.0, 130.0, 330.0, "weighted sum: weights · V");
    drawing.arrow(&[(225.0, 100.0), (225.0, 75.0)]);
    drawing.text(225.0, 66.0, "small middle", "[len, d_v]");
    drawing
}

/// Draws multi-head attention (Figure 2, right), with shapes for a width and a number of heads.
pub fn many_heads(d_model: usize, n_heads: usize) -> Picture {
    let mut drawing = Picture::new(640.0, 400.0, "Multi-head attention");
    let d_k = d_model / n_heads;
    for (x, name) in [(120.0, "queries"), (320.0, "keys"), (520.0, "values")] {
        drawing.text(x, 375.0, "middle head", format!("{name}: [len, {d_model}]"));
        drawing.arrow(&[(x, 358.0), (x, 342.0)]);
        let matrix =
            name.chars().next().map_or_else(String::new, |it| it.to_uppercase().to_string());
        drawing.block(x, 340.0, 150.0, &format!("W{matrix}: linear"));
        drawing.arrow(&[(x, 310.0), (x, 252.0)]);
        drawing.text(x + 8.0, 288.0, "small", format!("split into {n_heads} × {d_k}"));
    }
    for step in (0..3).rev() {
        let shift = 9.0 * f64::from(step);
        drawing.main_block(320.0 + shift, 250.0 - shift, 570.0, "scaled dot-product attention");
    }
    drawing.text(622.0, 194.0, "small end", format!("{n_heads} heads side by side"));
    drawing.arrow(&[(320.0, 200.0), (320.0, 172.0)]);
    drawing.block(320.0, 170.0, 260.0, &format!("concatenate: [len, {n_heads} × {d_k}]"));
    drawing.arrow(&[(320.0, 140.0), (320.0, 112.0)]);
    drawing.block(320.0, 110.0, 260.0, &format!("WO: linear, [len, {d_model}]"));
    drawing.arrow(&[(320.0, 80.0), (320.0, 60.0)]);
    drawing
}
